package config

import (
	"errors"
	"os"
	"strings"

	"github.com/berthcloud/berth/osloconfig"
)

// The values of Berth.HostIdentity.
const (
	HostRequired = "required" // hosts must show a certificate or a key
	HostByToken  = "token"    // any token with the role of agents acts for all hosts
)

// hosts returns the rows of [berth] of the services that hosts report to.
func (b *Berth) hosts() []Setting {
	const g = groupBerth
	return []Setting{
		NewSetting(g, "host_identity", osloconfig.Choice(&b.HostIdentity, HostRequired, HostByToken),
			"How a host shows which one it is: required: by a certificate (tls_agent_ca_file) or a key (host_key_secret), "+
				"so that it acts for itself only. token: a token with the role berth_agent or service is enough, "+
				"and acts for every host; for the time of a migration. Without effect while auth_strategy accepts any token."),
		NewSetting(g, "host_key_secret", osloconfig.Hidden(&b.HostKeySecret).Check(checkHostSecrets),
			"Secret of 32 characters or more that hosts' keys are made of; 'berth agent key HOST' prints the key of a host, "+
				"for the agent's settings. To replace it, write the new one, a comma and the old one until all hosts have new "+
				"keys. Empty: no keys are accepted."),
		NewSetting(g, "tls_agent_ca_file", osloconfig.String(&b.TLSAgentCAFile),
			"PEM file with the authorities that sign hosts' certificates: an agent that shows one with the name of its host "+
				"needs no token and no key. Empty: no certificates are accepted."),
	}
}

// HostSecrets returns the secrets of hosts' keys, the current one first.
func (b *Berth) HostSecrets() []string { return splitSecrets(b.HostKeySecret.Reveal()) }

func splitSecrets(text string) (all []string) {
	for secret := range strings.SplitSeq(text, ",") {
		if secret = strings.TrimSpace(secret); secret != "" {
			all = append(all, secret)
		}
	}
	return all
}

// minHostSecret is the fewest characters of a secret: a key is sent to hosts, and a client that
// guesses the secret has the keys of all.
const minHostSecret = 32

func checkHostSecrets(text string) error {
	for _, secret := range splitSecrets(text) {
		if len(secret) < minHostSecret {
			return errors.New("want 32 characters or more, such as 'openssl rand -hex 32' prints, and former ones after commas")
		}
	}
	return nil
}

// LoadHostSecrets reads of the files of a network or compute service only the secrets of hosts'
// keys, as LoadNetwork does.
func LoadHostSecrets(files, dirs []string) ([]string, error) {
	set, readErr := osloconfig.Read(osloconfig.Sources{Files: files, Dirs: dirs, LookupEnv: os.LookupEnv})
	var b Berth
	_, err := set.Load(Table(
		[]Setting{NewSetting(groupBerth, "host_key_secret", osloconfig.Hidden(&b.HostKeySecret).Check(checkHostSecrets), "")},
		osloconfig.Names{}))
	return b.HostSecrets(), errors.Join(readErr, err)
}
