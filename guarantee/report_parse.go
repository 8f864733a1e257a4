package guarantee

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// maxAmount is the most that placement takes as a total or a unit.
const maxAmount = math.MaxInt32

// A ReportError says what is wrong with an agent's configurations.
type ReportError struct {
	Key  string // "resource_provider_bandwidths.br0.egress", "" for the whole
	Want string
	Got  string // the value, shortened
}

func (e *ReportError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("configurations must be %s, not %s", e.Want, e.Got)
	}
	return fmt.Sprintf("configurations: %.200q must be %s, not %s", e.Key, e.Want, e.Got)
}

// ParseReport parses an agent's configurations. It is lenient, because agents of all releases send
// them: it ignores unknown keys, null is the same as no key, and whole numbers may be written as
// fractions. A value of another type or out of range is a *ReportError that names its key.
func ParseReport(data []byte) (Report, error) {
	if !json.Valid(data) {
		return Report{}, &ReportError{Want: "a JSON object", Got: short(data)}
	}
	return report("", data)
}

// A reader makes a value of JSON that is valid and not null. The key is for errors.
type reader[T any] func(key string, raw json.RawMessage) (T, error)

var report = record(func(o *object) Report {
	return Report{
		Bandwidths:        field(o, "resource_provider_bandwidths", dictionary(directed)),
		InventoryDefaults: field(o, "resource_provider_inventory_defaults", inventoryDefaults),
		Hypervisors:       field(o, "resource_provider_hypervisors", dictionary(text)),
		PacketRates:       field(o, "resource_provider_packet_processing_with_direction", dictionary(directed)),
		UndirectedPacketRates: field(o, "resource_provider_packet_processing_without_direction",
			dictionary(undirectedRate)),
		PacketInventoryDefaults: field(o, "resource_provider_packet_processing_inventory_defaults", inventoryDefaults),
		Traits:                  field(o, "resource_provider_traits", dictionary(operatorTraits)),
		BridgeMappings:          field(o, "bridge_mappings", dictionary(text)),
		DeviceMappings:          field(o, "device_mappings", dictionary(texts)),
	}
})

var directed = record(func(o *object) Directed {
	return Directed{Egress: field(o, "egress", whole), Ingress: field(o, "ingress", whole)}
})

var undirectedRate = record(func(o *object) Undirected {
	return Undirected{Any: field(o, "any", whole)}
})

var inventoryDefaults = record(func(o *object) InventoryDefaults {
	return InventoryDefaults{
		AllocationRatio: field(o, "allocation_ratio", ratio),
		MinUnit:         field(o, "min_unit", whole),
		MaxUnit:         field(o, "max_unit", whole),
		StepSize:        field(o, "step_size", whole),
		Reserved:        field(o, "reserved", whole),
	}
})

// An object is one whose fields are being read. It keeps the first error.
type object struct {
	key    string // "" for the whole
	fields map[string]json.RawMessage
	err    error
}

func open(key string, raw json.RawMessage) (*object, error) {
	o := &object{key: key}
	if err := json.Unmarshal(raw, &o.fields); err != nil || o.fields == nil {
		return nil, &ReportError{Key: key, Want: "an object", Got: short(raw)}
	}
	return o, nil
}

// field reads a field of an object, the zero value when it is missing or null.
func field[T any](o *object, name string, read reader[T]) (v T) {
	raw, ok := o.fields[name]
	if !ok || o.err != nil || string(raw) == "null" {
		return v
	}
	key := name
	if o.key != "" {
		key = o.key + "." + name
	}
	v, o.err = read(key, raw)
	return v
}

// record returns the reader of objects with known fields.
func record[T any](fill func(o *object) T) reader[T] {
	return func(key string, raw json.RawMessage) (none T, err error) {
		o, err := open(key, raw)
		if err != nil {
			return none, err
		}
		if v := fill(o); o.err == nil {
			return v, nil
		}
		return none, o.err
	}
}

// dictionary returns the reader of objects whose fields are of one kind.
func dictionary[T any](read reader[T]) reader[map[string]T] {
	return record(func(o *object) map[string]T {
		all := make(map[string]T, len(o.fields))
		for _, name := range slices.Sorted(maps.Keys(o.fields)) { // so that the first error is always the same
			all[name] = field(o, name, read)
		}
		return all
	})
}

func text(key string, raw json.RawMessage) (s string, err error) {
	if json.Unmarshal(raw, &s) != nil {
		return "", &ReportError{Key: key, Want: "a string", Got: short(raw)}
	}
	return s, nil
}

func texts(key string, raw json.RawMessage) (s []string, err error) {
	if json.Unmarshal(raw, &s) != nil {
		return nil, &ReportError{Key: key, Want: "a list of strings", Got: short(raw)}
	}
	return s, nil
}

// operatorTraits reads traits that operators may give to a device.
func operatorTraits(key string, raw json.RawMessage) ([]string, error) {
	names, err := texts(key, raw)
	for _, name := range names {
		if want := WantedTrait(name); want != "" {
			return nil, &ReportError{Key: key, Want: want, Got: short(fmt.Appendf(nil, "%q", name))}
		}
	}
	return names, err
}

func ratio(key string, raw json.RawMessage) (*float64, error) {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f < 0 {
		return nil, &ReportError{Key: key, Want: "a number of 0 or more", Got: short(raw)}
	}
	return &f, nil
}

func whole(key string, raw json.RawMessage) (*int64, error) {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f < 0 || f > maxAmount || f != math.Trunc(f) {
		return nil, &ReportError{Key: key, Want: fmt.Sprintf("a whole number from 0 to %d", maxAmount), Got: short(raw)}
	}
	n := int64(f)
	return &n, nil
}

// short returns JSON as an error may show it.
func short(raw []byte) string {
	const most = 40
	if raw = bytes.TrimSpace(raw); len(raw) > most {
		return fmt.Sprintf("%#q…", raw[:most])
	}
	return fmt.Sprintf("%#q", raw)
}
