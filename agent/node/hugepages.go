package node

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// reservedPages are pages that are not for servers, by the node and the size in kB.
type reservedPages map[int]map[int64]int64

// reservedPages reads the values of [DEFAULT] reserved_huge_pages by Nova's rules. The places are
// the files and lines of the values, if they are known.
func (r *reader) reservedPages(texts, places []string) reservedPages {
	all := reservedPages{}
	for i, text := range texts {
		node, size, count, err := parseReserved(text)
		if err != nil {
			r.wrong(groupDefault, "reserved_huge_pages", text, "%s", err)
			if i < len(places) {
				r.mistakes[len(r.mistakes)-1].Where = places[i]
			}
			continue
		}
		if all[node] == nil {
			all[node] = map[int64]int64{}
		}
		if _, twice := all[node][size]; twice {
			r.warn("[DEFAULT] reserved_huge_pages has several values for pages of %d kB of node %d: the last one is used, %d",
				size, node, count)
		}
		all[node][size] = count
	}
	return all
}

// maxNode is the largest ID of a node, more than Linux can have.
const maxNode = 1<<16 - 1

const wantReserved = "want node, size and count, such as node:0,size:2048,count:64"

// parseReserved reads one value: "node:0,size:2048,count:64". Other keys mean nothing.
func parseReserved(text string) (node int, sizeKB, count int64, err error) {
	values := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(pair, ":")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return 0, 0, 0, errors.New(wantReserved)
		}
		if _, twice := values[key]; twice {
			return 0, 0, 0, fmt.Errorf("%.60q is in it twice", key)
		}
		values[key] = strings.TrimSpace(value)
	}
	for _, key := range []string{"node", "size", "count"} {
		if values[key] == "" {
			return 0, 0, 0, errors.New(wantReserved)
		}
	}
	id, err := parseWhole(values["node"], maxNode)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("node: %w", err)
	}
	if sizeKB, err = parsePageSize(values["size"]); err != nil {
		return 0, 0, 0, fmt.Errorf("size: %w", err)
	}
	if count, err = parseWhole(values["count"], math.MaxInt32); err != nil {
		return 0, 0, 0, fmt.Errorf("count: %w", err)
	}
	return int(id), sizeKB, count, nil
}

// parseWhole reads what Python takes for a whole number that is not negative.
func parseWhole(text string, most int64) (int64, error) {
	if cpuNumber.MatchString(text) {
		n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
		if err == nil && n <= most {
			return n, nil
		}
	}
	return 0, fmt.Errorf("want a whole number from 0 to %d, not %.40q", most, text)
}

// maxPageKB is the size of the largest page, in kB: far more than processors have.
const maxPageKB = 1 << 40

// pageSize is a size with a unit: bits or bytes, of which K stands for 1024.
var pageSize = regexp.MustCompile(`^\+?([0-9]*\.?[0-9]+)((?:[KMGT]i?)?)(b|bit|B)$`)

// parsePageSize reads the size of pages: a number of kB, or one with a unit.
func parsePageSize(text string) (kB int64, err error) {
	if kB, err = parseWhole(text, maxPageKB); err == nil && kB > 0 {
		return kB, nil
	}
	wrong := fmt.Errorf("want a number of kB, or one with KB, MB or GB, such as 2048, 2MB or 1GB, not %.40q", text)
	part := pageSize.FindStringSubmatch(text)
	if part == nil {
		return 0, wrong
	}
	number, err := strconv.ParseFloat(part[1], 64)
	if err != nil {
		return 0, wrong
	}
	unit := map[string]float64{"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
	number *= unit[strings.TrimSuffix(part[2], "i")] / 1024
	if part[3] != "B" {
		number /= 8
	}
	if number < 1 || number > maxPageKB || number != math.Trunc(number) {
		return 0, wrong
	}
	return int64(number), nil
}
