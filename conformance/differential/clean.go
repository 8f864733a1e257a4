package differential

import (
	"fmt"
	"net/http"
	"strings"
)

// clean empties the service through its API. The error names what it could not remove; the caller
// then needs a fresh service.
func (s *Side) clean() error {
	s.forget()
	if s.host == "" {
		return fmt.Errorf("%s: not started", s.name)
	}
	for range 20 { // children before their parents
		providers, err := s.list("/resource_providers", "resource_providers", "uuid")
		if err != nil {
			return err
		}
		if len(providers) == 0 {
			return s.cleanNames()
		}
		for _, p := range providers {
			if err := s.cleanProvider(p); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("%s: providers remain", s.name)
}

func (s *Side) cleanProvider(uuid string) error {
	a := s.admin(http.MethodGet, "/resource_providers/"+uuid+"/allocations")
	for consumer := range asMap(at(a.JSON, "allocations")) {
		if d := s.admin(http.MethodDelete, "/allocations/"+consumer); d.Status != http.StatusNoContent &&
			d.Status != http.StatusNotFound {
			return fmt.Errorf("%s: removing allocations of %s: %v", s.name, consumer, d)
		}
	}
	d := s.admin(http.MethodDelete, "/resource_providers/"+uuid)
	if d.Status != http.StatusNoContent && d.Status != http.StatusConflict {
		return fmt.Errorf("%s: removing provider %s: %v", s.name, uuid, d)
	}
	return nil
}

func (s *Side) cleanNames() error {
	traits, err := s.list("/traits?name=startswith:CUSTOM_", "traits", "")
	if err != nil {
		return err
	}
	classes, err := s.list("/resource_classes", "resource_classes", "name")
	if err != nil {
		return err
	}
	var paths []string
	for _, t := range traits {
		paths = append(paths, "/traits/"+t)
	}
	for _, c := range classes {
		if strings.HasPrefix(c, "CUSTOM_") {
			paths = append(paths, "/resource_classes/"+c)
		}
	}
	for _, p := range paths {
		if d := s.admin(http.MethodDelete, p); d.Status != http.StatusNoContent {
			return fmt.Errorf("%s: removing %s: %v", s.name, p, d)
		}
	}
	return nil
}

// list returns one member of each item of a listing, or the items themselves.
func (s *Side) list(target, key, field string) ([]string, error) {
	a := s.admin(http.MethodGet, target)
	if a.Status != http.StatusOK {
		return nil, fmt.Errorf("%s: listing %s: %v", s.name, target, a)
	}
	if field == "" {
		return asStrings(at(a.JSON, key)), nil
	}
	var out []string
	items, _ := at(a.JSON, key).([]any)
	for _, it := range items {
		out = append(out, asString(at(it, field)))
	}
	return out, nil
}

// admin makes a request that the services have to grant.
func (s *Side) admin(method, target string) Answer {
	return s.exchange(Request{Method: method, Target: target, Header: adminHeader()})
}

func adminHeader() []Field {
	return []Field{{"X-Auth-Token", "admin"}, {"OpenStack-API-Version", "placement 1.39"}}
}
