// Package systemd tells the service manager how the process is, by the datagrams of sd_notify(3): that it serves, that it is
// alive, that it ends. Under no service manager nothing is said.
//
//	manager := systemd.FromEnvironment(os.Getenv)
//	err := manager.Run(ctx, alive) // once everything is up; until ctx ends
package systemd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// Manager is who started the process. The zero value is nobody.
type Manager struct {
	socket   string        // "": nobody listens
	watchdog time.Duration // longest silence after which the process is taken for dead; 0: any
}

// FromEnvironment reads NOTIFY_SOCKET and WATCHDOG_USEC, which a unit of Type=notify with WatchdogSec= sets.
func FromEnvironment(getenv func(string) string) Manager {
	m := Manager{socket: getenv("NOTIFY_SOCKET")}
	if n, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64); err == nil && n > 0 && m.socket != "" {
		m.watchdog = time.Duration(n) * time.Microsecond
	}
	return m
}

// Run says that the process is ready, and then, where there is a watchdog, every half of its time that it is alive: each time
// after alive has returned, which hangs where the process does. When ctx ends it says that the process ends, and returns nil.
// An error is that the service manager could not be told.
func (m Manager) Run(ctx context.Context, alive func()) error {
	if m.socket == "" {
		<-ctx.Done()
		return nil
	}
	if err := m.tell("READY=1"); err != nil {
		return err
	}
	var tick <-chan time.Time
	if m.watchdog > 0 {
		ticker := time.NewTicker(m.watchdog / 2)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-tick:
			alive()
			if err := m.tell("WATCHDOG=1"); err != nil {
				return err
			}
		case <-ctx.Done():
			return m.tell("STOPPING=1")
		}
	}
}

// tell sends one datagram; a socket whose name begins with @ is in the abstract namespace, as net has it too.
func (m Manager) tell(state string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("systemd: telling %s to %s: %w", state, m.socket, err)
		}
	}()
	if !strings.HasPrefix(m.socket, "/") && !strings.HasPrefix(m.socket, "@") {
		return errors.New("NOTIFY_SOCKET is no socket")
	}
	connection, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	_, err = connection.Write([]byte(state))
	return errors.Join(err, connection.Close())
}
