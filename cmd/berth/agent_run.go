package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/berthcloud/berth/agent"
	agentsettings "github.com/berthcloud/berth/agent/settings"
	"github.com/berthcloud/berth/client"
	"github.com/berthcloud/berth/config"
	"github.com/berthcloud/berth/logging"
	"github.com/berthcloud/berth/network"
)

// runAgent reports a host's agents until ctx ends.
func runAgent(ctx context.Context, env environment, flags *agentFlags) error {
	src, err := flags.source(ctx, env)
	if err != nil {
		return fail(exitUsage, err)
	}
	all, warnings, err := src.load()
	if err != nil {
		return fail(exitUsage, err)
	}
	log, output, err := openAgentLog(env, all[0], warnings)
	if err != nil {
		return fail(exitUsage, err)
	}
	defer output.Close()
	services, err := networkServices(&all[0].Berth, log)
	if err != nil {
		return fail(exitUsage, err)
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)

	var running sync.WaitGroup
	var reloads []chan struct{}
	for _, set := range all {
		reload := make(chan struct{}, 1)
		reloads = append(reloads, reload)
		r := src.reporter(set, services, log)
		running.Go(func() { r.Run(ctx, reload) })
	}
	running.Go(func() { passOn(ctx, hangup, reloads, output, log) })
	log.Info("Berth's agent starts", "version", currentVersion().Version, "host", all[0].Default.Host, "agents", len(all))
	running.Wait()
	log.Info("Berth's agent has stopped")
	return nil
}

// openAgentLog opens the log that the settings name.
func openAgentLog(env environment, s *agentsettings.Settings, warnings []string) (*slog.Logger, *logging.Output, error) {
	d := s.Default
	return openServiceLog(env, &config.Service{
		Default: config.Default{Debug: d.Debug, LogFile: d.LogFile, LogDir: d.LogDir, WatchLog: d.WatchLog, UseJSON: d.UseJSON},
		Ignored: s.Ignored,
	}, "berth.agent", warnings)
}

// passOn tells each agent of SIGHUP.
func passOn(ctx context.Context, hangup <-chan os.Signal, reloads []chan struct{}, output *logging.Output, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
		}
		if err := output.Reopen(); err != nil {
			log.Error("the log file cannot be opened anew", "error", err)
		}
		for _, reload := range reloads {
			select {
			case reload <- struct{}{}:
			default: // it has yet to look at the last one
			}
		}
	}
}

// reporter returns what reports one of the agents.
func (src agentSource) reporter(set *agentsettings.Settings, services []agent.Service, log *slog.Logger) *agent.Reporter {
	return &agent.Reporter{
		Services: services, Settings: set, Log: log.With("agent", string(set.Kind)),
		Read: func() (*agentsettings.Settings, error) {
			s, _, err := agentsettings.Load(set.Kind, src.Sources, src.names)
			return s, err
		},
		Fingerprint: func() agentsettings.Fingerprint { return agentsettings.FingerprintOf(src.Sources) },
	}
}

// networkServices are the services that the settings name, in their order.
func networkServices(b *agentsettings.Berth, log *slog.Logger) ([]agent.Service, error) {
	if len(b.NetworkURLs) == 0 {
		return nil, errors.New("[berth] network_urls: set the address of the network service, such as http://192.0.2.1:9696")
	}
	http, err := client.NewHTTP(1, client.Trust{CAFile: b.NetworkCAFile, CertFile: b.NetworkCertFile, KeyFile: b.NetworkKeyFile})
	if err != nil {
		return nil, fmt.Errorf("[berth] network_ca_file, network_cert_file, network_key_file: %w", err)
	}
	var all []agent.Service
	for _, url := range b.NetworkURLs {
		access, err := networkAccess(b, url)
		if err != nil {
			return nil, fmt.Errorf("[berth] network_urls: %w", err)
		}
		all = append(all, beater{client.NewNetwork(client.Options{Access: access, HTTP: http, Timeout: b.NetworkTimeout, Log: log})})
	}
	return all, nil
}

func networkAccess(b *agentsettings.Berth, url string) (client.Access, error) {
	if b.NetworkTokenFile != "" {
		return client.FromFile(url, b.NetworkTokenFile)
	}
	return client.Fixed(url, cmp.Or(b.NetworkToken.Reveal(), client.NoAuth))
}

// A beater is a network service as an agent sees it.
type beater struct{ service *client.Network }

func (b beater) Beat(ctx context.Context, h agent.Heartbeat) (agent.Answer, error) {
	r, err := b.service.Beat(ctx, network.Heartbeat{
		Type: h.Type, Binary: h.Binary, Host: h.Host, Topic: "N/A", Zone: h.Zone, Configurations: h.Configurations, Start: h.Start,
	})
	return agent.Answer{Synced: r.Synced, Failure: r.SyncError}, err
}
