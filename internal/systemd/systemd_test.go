package systemd

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// listen is a service manager's end.
func listen(t *testing.T, name string) *net.UnixConn {
	t.Helper()
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { manager.Close() })
	return manager
}

// heard is the next datagram.
func heard(t *testing.T, manager *net.UnixConn) string {
	t.Helper()
	if err := manager.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	datagram := make([]byte, 100)
	n, err := manager.Read(datagram)
	if err != nil {
		t.Fatal(err)
	}
	return string(datagram[:n])
}

func environment(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

func TestTheServiceManagerHearsReadyAliveAndTheEnd(t *testing.T) {
	folder, err := os.MkdirTemp("", "n") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	for _, name := range []string{filepath.Join(folder, "notify"), "@maskstream-test-" + filepath.Base(folder)} {
		manager := listen(t, name)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		var asked atomic.Int32
		m := FromEnvironment(environment(map[string]string{"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "20000"}))
		go func() { ended <- m.Run(ctx, func() { asked.Add(1) }) }()
		for _, want := range []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1"} {
			if got := heard(t, manager); got != want {
				t.Errorf("heard %q, want %q", got, want)
			}
		}
		if asked.Load() < 2 {
			t.Errorf("said to be alive without having asked (%d)", asked.Load())
		}
		cancel()
		last := heard(t, manager)
		for last == "WATCHDOG=1" {
			last = heard(t, manager)
		}
		if err := <-ended; err != nil || last != "STOPPING=1" {
			t.Errorf("ended with %q, %v", last, err)
		}
	}
}

func TestAProcessThatHangsIsNotSaidToBeAlive(t *testing.T) {
	name := "@maskstream-test-hang-" + filepath.Base(t.TempDir())
	manager := listen(t, name)
	ctx, cancel := context.WithCancel(t.Context())
	hangs, hung, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	m := FromEnvironment(environment(map[string]string{"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "2000"}))
	ask := sync.OnceFunc(func() { close(hung) })
	go func() { ended <- m.Run(ctx, func() { ask(); <-hangs }) }()
	if got := heard(t, manager); got != "READY=1" {
		t.Errorf("heard %q", got)
	}
	<-hung
	cancel()
	if err := manager.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := manager.Read(make([]byte, 100)); err == nil {
		t.Errorf("heard %d bytes while the process hung", n)
	}
	close(hangs)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestNobodyIsToldNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := FromEnvironment(environment(nil)).Run(ctx, nil); err != nil {
		t.Error(err)
	}
	for _, socket := range []string{"/none/notify", "vsock:2:1"} {
		err := FromEnvironment(environment(map[string]string{"NOTIFY_SOCKET": socket})).Run(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), "systemd: telling READY=1 to "+socket) {
			t.Errorf("%s: %v", socket, err)
		}
	}
}
