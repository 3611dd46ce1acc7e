package main

import (
	"fmt"
	"log/slog"
	"net"
	"testing"

	"maskstream/configs"
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
