package httpserver

import (
	"strconv"
	"strings"
)

// ListElements returns the non-empty elements of a header that is a list, over all its lines.
func ListElements(lines []string) []string {
	var list []string
	for _, s := range strings.Split(strings.Join(lines, ","), ",") {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// ParseQuality reads the weight of a header's element: 0 to 1 with at most three decimals. It
// returns false for any other text.
func ParseQuality(s string) (float64, bool) {
	whole, decimals, _ := strings.Cut(s, ".")
	if len(decimals) > 3 || whole != "0" && (whole != "1" || strings.Trim(decimals, "0") != "") {
		return 0, false
	}
	if strings.Trim(decimals, "0123456789") != "" {
		return 0, false
	}
	q, err := strconv.ParseFloat(strings.TrimSuffix(s, "."), 64)
	return q, err == nil
}
