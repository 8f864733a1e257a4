package claims

import "bytes"

// requests returns the elements of the list "allocation_requests" of an answer, unparsed. Decoding
// the answer would cost more than the server spends on it, and a claim only repeats one of them.
func requests(answer []byte) [][]byte {
	_, list, ok := bytes.Cut(answer, []byte(`"allocation_requests"`))
	if !ok {
		return nil
	}
	var all [][]byte
	depth, begin, quoted := 0, 0, false
	for i := bytes.IndexByte(list, '[') + 1; i < len(list); i++ {
		switch b := list[i]; {
		case b == '"' && list[i-1] != '\\':
			quoted = !quoted
		case quoted:
		case b == '{':
			if depth == 0 {
				begin = i
			}
			depth++
		case b == '}':
			if depth--; depth == 0 {
				all = append(all, list[begin:i+1])
			}
		case b == ']' && depth == 0:
			return all
		}
	}
	return nil
}

// The rest of a new consumer's claim: of the newest microversion, and of Nova's, 1.36, which has no
// types of consumers.
const (
	newestOwner = `,"consumer_generation":null,"project_id":"bench","user_id":"bench","consumer_type":"INSTANCE"}`
	novaOwner   = `,"consumer_generation":null,"project_id":"bench","user_id":"bench"}`
)

// claim returns the body of a claim for an element of requests.
func claim(request []byte, owner string) []byte {
	return append(bytes.TrimRight(bytes.Clone(request[:len(request)-1]), " \n"), owner...)
}
