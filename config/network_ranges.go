package config

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// A Range is a range of numbers, both ends included.
type Range struct{ Low, High int }

// ParseRanges parses a validated list of tunnel numbers. Invalid entries are skipped.
func ParseRanges(list []string) []Range {
	var all []Range
	for _, text := range list {
		if r, err := parseRange(text, maxGREKey); err == nil {
			all = append(all, r)
		}
	}
	return all
}

// ParseVLANRanges parses a validated network_vlan_ranges: the VLANs of each physical network. A
// network that is listed without a range has all VLANs, whatever its other entries are, as in
// Neutron since Zed. Invalid entries are skipped.
func ParseVLANRanges(list []string) map[string][]Range {
	whole := Range{1, maxVLAN}
	all := make(map[string][]Range)
	for _, text := range list {
		name, r, err := parseVLANRange(text)
		switch had := all[name]; {
		case err != nil, len(had) == 1 && had[0] == whole:
		case r == whole:
			all[name] = []Range{whole}
		default:
			all[name] = append(had, r)
		}
	}
	return all
}

// parseVLANRange reads network:first:last or network.
func parseVLANRange(text string) (network string, r Range, err error) {
	network, numbers, some := strings.Cut(strings.TrimSpace(text), ":")
	if network == "" {
		return "", r, errors.New("want network:first:last or network")
	}
	if !some {
		return network, Range{1, maxVLAN}, nil
	}
	r, err = parseRange(numbers, maxVLAN)
	return network, r, err
}

// parseRange reads first:last.
func parseRange(text string, most int) (r Range, err error) {
	first, last, _ := strings.Cut(strings.TrimSpace(text), ":")
	low, errLow := strconv.Atoi(strings.TrimSpace(first))
	high, errHigh := strconv.Atoi(strings.TrimSpace(last))
	if errLow != nil || errHigh != nil || low < 1 || high < low || high > most {
		return r, fmt.Errorf("want first:last, numbers from 1 to %d", most)
	}
	return Range{low, high}, nil
}

// ParseMTUs parses a validated physical_network_mtus: bytes by physical network. Invalid entries
// are skipped.
func ParseMTUs(list []string) map[string]int {
	all := make(map[string]int)
	for _, text := range list {
		if name, n, err := parseMTU(text); err == nil {
			all[name] = n
		}
	}
	return all
}

// parseMTU reads network:bytes.
func parseMTU(text string) (network string, bytes int, err error) {
	network, number, _ := strings.Cut(text, ":")
	network = strings.TrimSpace(network)
	bytes, err = strconv.Atoi(strings.TrimSpace(number))
	if network == "" || err != nil || bytes < 0 || bytes > maxMTU {
		return "", 0, fmt.Errorf("want network:bytes, each network once, bytes up to %d", maxMTU)
	}
	return network, bytes, nil
}

// checkMTUs accepts network:bytes, each network once.
func checkMTUs(text string) error {
	seen := make(map[string]bool)
	return each(func(entry string) error {
		name, _, err := parseMTU(entry)
		if seen[name] {
			_, _, err = parseMTU("") // once is enough
		}
		seen[name] = true
		return err
	})(text)
}

// checkMAC accepts six octets of which the first is not that of a group.
func checkMAC(text string) error {
	octets := strings.Split(text, ":")
	bad := len(octets) != 6
	for _, o := range octets {
		_, err := strconv.ParseUint(o, 16, 8)
		bad = bad || err != nil || len(o) != 2
	}
	if bad || strings.ContainsRune("13579bBdDfF", rune(octets[0][1])) {
		return errors.New("want the address of one interface, such as fa:16:3e:00:00:00")
	}
	return nil
}

// PageLimit is the most objects in one answer, 0 for no bound.
func (n *Neutron) PageLimit() int {
	most, err := strconv.Atoi(n.PaginationMaxLimit)
	if err != nil {
		return 0 // infinite
	}
	return max(0, most)
}

// checkLinkPrefix refuses values that are not an absolute HTTP URL.
func checkLinkPrefix(text string) error {
	u, err := url.Parse(text)
	if text != "" &&
		(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "") {
		return errors.New("want a URL such as https://cloud.example/network")
	}
	return nil
}

// checkPageLimit accepts a number or the word infinite.
func checkPageLimit(text string) error {
	if _, err := strconv.Atoi(text); err != nil && text != "infinite" {
		return errors.New("want a number, or the word infinite")
	}
	return nil
}
