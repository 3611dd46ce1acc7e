package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"maskstream/configs"
	"maskstream/ingest"
)

func TestTheEmbeddedServerListensWhereTheConfigurationSays(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("nats://%s", listener.Addr())
	listener.Close()
	b, err := openBus(configs.NATS{Embedded: true, URL: configs.URL(address)}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.ready(); err != nil || b.where != address {
		t.Errorf("it is at %s, wanted at %s: %v", b.where, address, err)
	}
	if err := b.close(); err != nil {
		t.Error(err)
	}
}

func TestServiceWithoutItsBusRunsAndEndsWell(t *testing.T) {
	config := configs.Default()
	s := configs.DefaultStream()
	s.Name, s.URL = "cam", "testscene:?size=64x48&pace=0&frames=3"
	config.Streams, config.HTTP.Listen = []configs.Stream{s}, "127.0.0.1:0"
	config.NATS.URL = "nats://user:geheim@127.0.0.1:9"
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var said bytes.Buffer
	if err := serve(ctx, config, slog.New(slog.NewTextHandler(&said, nil)), nil); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`msg="stream is up" stream=cam`, `msg="not everything could be published"`, "messages were dropped"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	if t.Failed() || strings.Contains(said.String(), "geheim") {
		t.Errorf("the log is\n%s", said.String())
	}
}

// TestEverySchemeOfAConfigurationCanBeRead holds the two lists of protocols, of what is valid and of what is read, to each other.
func TestEverySchemeOfAConfigurationCanBeRead(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, scheme := range []string{"rtsp", "rtsps", "rtmp", "rtmps", "srt", "udp", "rtp", "tcp", "http", "https", "pipe", "concat"} {
		address := scheme + "://camera.example/main"
		_, err := ingest.Open(ended, ingest.Options{URL: address})
		if valid, read := configs.CheckURL(configs.URL(address)) == nil, errors.Is(err, context.Canceled); valid != read {
			t.Errorf("%s: valid %t, but reading it ends with %v", scheme, valid, err)
		}
	}
}
