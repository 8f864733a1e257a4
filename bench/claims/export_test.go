package claims

// Requests and Body are a client's conversions of an answer.
var (
	Requests = requests
	Body     = claim
)
