package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"testing"

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
