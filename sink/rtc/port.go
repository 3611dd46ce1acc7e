package rtc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/webrtc/v4"
)

// bufferBytes is room in the socket for a key picture to every viewer.
const bufferBytes = 4 << 20

// port is the one UDP port that all viewers share.
type port struct {
	mux      ice.UDPMux
	address  string // host:port, with the port that is used
	loopback bool
}

// listen opens the port on one address, or on every address of this machine where the host is empty or unspecified. On loopback, where
// nobody has to let it through, another one does as well.
func listen(o Options) (*port, error) {
	host, number, err := net.SplitHostPort(o.UDP)
	if err != nil {
		return nil, fmt.Errorf("webrtc.udp %q: write host:port, for example 127.0.0.1:8189", o.UDP)
	}
	p, err := bind(host, number, o.Log)
	if ip := net.ParseIP(host); errors.Is(err, syscall.EADDRINUSE) && ip != nil && ip.IsLoopback() {
		o.Log.Info("WebRTC port is taken, using another one", "udp", o.UDP)
		p, err = bind(host, "0", o.Log)
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("webrtc.udp %s: another program uses this port: end it, or choose another port", o.UDP)
	case err != nil:
		return nil, fmt.Errorf("webrtc.udp %s: %w", o.UDP, err)
	}
	return p, nil
}

func bind(host, number string, log *slog.Logger) (*port, error) {
	logger := loggers{log}.NewLogger("ice")
	address, err := net.ResolveUDPAddr("udp", net.JoinHostPort(host, number))
	if err != nil {
		return nil, err
	}
	if address.IP == nil || address.IP.IsUnspecified() {
		mux, err := everywhere(address, ice.UDPMuxFromPortWithLogger(logger), ice.UDPMuxFromPortWithInterfaceFilter(ours), ice.UDPMuxFromPortWithLoopback(),
			ice.UDPMuxFromPortWithReadBufferSize(bufferBytes), ice.UDPMuxFromPortWithWriteBufferSize(bufferBytes))
		if err != nil {
			return nil, err
		}
		return &port{mux: mux, address: address.String()}, nil
	}
	conn, err := net.ListenUDP("udp", address)
	if err != nil {
		return nil, err
	}
	_ = conn.SetReadBuffer(bufferBytes) // the system may grant less
	_ = conn.SetWriteBuffer(bufferBytes)
	return &port{mux: ice.NewUDPMuxDefault(ice.UDPMuxParams{Logger: logger, UDPConn: conn}), address: conn.LocalAddr().String(), loopback: address.IP.IsLoopback()}, nil
}

// everywhere listens on all addresses at one port, which is chosen first where it is 0.
func everywhere(address *net.UDPAddr, options ...ice.UDPMuxFromPortOption) (ice.UDPMux, error) {
	if address.Port == 0 {
		probe, err := net.ListenUDP("udp", address)
		if err != nil {
			return nil, err
		}
		address.Port = probe.LocalAddr().(*net.UDPAddr).Port
		if err := probe.Close(); err != nil {
			return nil, err
		}
	}
	return ice.NewMultiUDPMuxFromPort(address.Port, options...)
}

// ours leaves out the networks between this machine and its own containers.
func ours(name string) bool {
	for _, prefix := range []string{"docker", "br-", "veth", "virbr", "cni", "flannel"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return true
}

// settings are the same for every viewer.
func (p *port) settings(hosts []netip.Addr, log *slog.Logger) (webrtc.SettingEngine, error) {
	e := webrtc.SettingEngine{LoggerFactory: loggers{log}}
	e.SetICEUDPMux(p.mux)
	e.SetIncludeLoopbackCandidate(true)
	e.SetInterfaceFilter(ours)
	commonSettings(&e)
	if len(hosts) == 0 {
		return e, nil
	}
	rule := webrtc.ICEAddressRewriteRule{AsCandidateType: webrtc.ICECandidateTypeHost, Mode: webrtc.ICEAddressRewriteAppend}
	for _, h := range hosts {
		rule.External = append(rule.External, h.String())
	}
	return e, e.SetICEAddressRewriteRules(rule)
}

func commonSettings(e *webrtc.SettingEngine) {
	e.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4, webrtc.NetworkTypeUDP6})
	e.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	e.SetICETimeouts(5*time.Second, 10*time.Second, 2*time.Second) // disconnected, failed, sign of life
	e.SetSCTPMaxMessageSize(4096)                                  // of what a page tells us
}

// resolve finds the addresses of additional hosts. A name that is not known now is an error: nobody could reach us by it.
func resolve(hosts []string) (all []netip.Addr, err error) {
	for _, host := range hosts {
		if a, err := netip.ParseAddr(host); err == nil {
			all = append(all, a)
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		cancel()
		if err != nil {
			return nil, fmt.Errorf("webrtc.additional_hosts: %s is neither an address nor a name that is known here: %w", strconv.Quote(host), err)
		}
		for _, a := range found {
			all = append(all, a.Unmap())
		}
	}
	return all, nil
}
