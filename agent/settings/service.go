package settings

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/identity/hostkey"
	"github.com/berthcloud/berth/osloconfig"
)

// A Service is the part of the group [berth] about the connection of an agent to one of the
// services. The names of the options begin with the service's.
type Service struct {
	Name string // "network" or "compute"
	Port int    // that it listens on by default

	URLs        []string // tried in order
	Token       osloconfig.Secret
	TokenFile   string
	HostKey     osloconfig.Secret
	HostKeyFile string
	CertFile    string // with KeyFile: the agent's own certificate
	KeyFile     string
	CAFile      string // authorities of the service's certificate; empty: the system's
	Timeout     time.Duration
}

// NewService returns the connection of empty files: to a service on this machine.
func NewService(name string, port int) Service {
	return Service{
		Name: name, Port: port, URLs: []string{fmt.Sprintf("http://127.0.0.1:%d", port)}, Timeout: 10 * time.Second,
	}
}

// Settings returns the options, bound to s.
func (s *Service) Settings() []config.Setting {
	const g = groupBerth
	return []config.Setting{
		config.NewSetting(g, s.Name+"_urls", osloconfig.List(&s.URLs),
			"Addresses of the "+s.Name+" service, separated by commas. The first one that answers is used."),
		config.NewSetting(g, s.Name+"_host_key", osloconfig.Hidden(&s.HostKey),
			"Key of this host, which 'berth agent key HOST' prints: it identifies the host to the "+s.Name+
				" service in place of a certificate, and needs no token. Better in a file of its own: "+s.Name+"_host_key_file."),
		config.NewSetting(g, s.Name+"_host_key_file", osloconfig.String(&s.HostKeyFile),
			"File with that key. It is read for each request."),
		config.NewSetting(g, s.Name+"_token", osloconfig.Hidden(&s.Token),
			"Token that requests carry. Better in a file of its own: "+s.Name+"_token_file."),
		config.NewSetting(g, s.Name+"_token_file", osloconfig.String(&s.TokenFile),
			"File with that token. It is read for each request."),
		config.NewSetting(g, s.Name+"_cert_file", osloconfig.String(&s.CertFile),
			"PEM file with the certificate that identifies this agent to the "+s.Name+" service."),
		config.NewSetting(g, s.Name+"_key_file", osloconfig.String(&s.KeyFile),
			"PEM file with the private key of that certificate."),
		config.NewSetting(g, s.Name+"_ca_file", osloconfig.String(&s.CAFile),
			"PEM file with the authorities of the "+s.Name+" service's certificate; the system's when empty."),
		config.NewSetting(g, s.Name+"_timeout", osloconfig.Seconds(&s.Timeout).Check(CheckPositive),
			"Seconds to wait for an answer of the "+s.Name+" service."),
	}
}

// Check returns what is wrong with the addresses, and with what several of the options
// say together, on a host. It drops the blanks around addresses.
func (s *Service) Check(host string) []*Mistake {
	var p parser
	s.checkURLs(&p)
	wrong := func(option, value, format string, args ...any) {
		p.wrong(of(groupBerth, s.Name+option, nil), value, "%s", fmt.Sprintf(format, args...))
	}
	if s.Token != "" && s.TokenFile != "" {
		wrong("_token_file", s.TokenFile, "%s_token is set too; leave one of the two out", s.Name)
	}
	if s.HostKey != "" && s.HostKeyFile != "" {
		wrong("_host_key_file", s.HostKeyFile, "%s_host_key is set too; leave one of the two out", s.Name)
	}
	if key := s.HostKey.Reveal(); key != "" {
		if owner, ok := hostkey.HostOf(key); !ok {
			wrong("_host_key", s.HostKey.String(), "want a key as 'berth agent key HOST' prints it")
		} else if owner != host {
			wrong("_host_key", s.HostKey.String(), "it is the key of the host %s, and this host is %s", owner, host)
		}
	}
	if s.CertFile != "" && s.KeyFile == "" {
		wrong("_cert_file", s.CertFile, "set %s_key_file too: a certificate needs its key", s.Name)
	}
	if s.KeyFile != "" && s.CertFile == "" {
		wrong("_key_file", s.KeyFile, "set %s_cert_file too: a key needs its certificate", s.Name)
	}
	return p.mistakes
}

func (s *Service) checkURLs(p *parser) {
	o := of(groupBerth, s.Name+"_urls", s.URLs)
	if len(o.items) == 0 {
		p.wrong(o, "", "want addresses such as https://controller:%d, separated by commas", s.Port)
	}
	for _, item := range o.items {
		if i := strings.LastIndexByte(item, '@'); i >= 0 {
			p.wrong(o, "…"+item[i:], "want no name and password here; see %s_token_file and %s_cert_file", s.Name, s.Name)
		} else if !isURL(item) {
			p.wrong(o, item, "want an address such as https://controller:%d", s.Port)
		}
	}
	s.URLs = o.items
}

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "" &&
		u.Fragment == ""
}

// CheckPositive refuses a duration of 0.
func CheckPositive(text string) error {
	if strings.Trim(text, "0.") == "" && text != "" {
		return errors.New("want more than 0 seconds")
	}
	return nil
}
