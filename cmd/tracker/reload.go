package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"maskstream/configs"
)

// reload keeps the service to its configuration file: it looks again at SIGHUP, and when the file changes. A file that is wrong
// changes nothing.
type reload struct {
	fleet   *fleet
	path    string
	current *configs.Config                 // in effect, but for its streams
	told    func(*configs.Config)           // of one that is valid
	load    func() (*configs.Config, error) // the file under the environment
}

// settle is how long the file has to be left alone before it is read: editors write in several steps.
const settle = 300 * time.Millisecond

// Run works until ctx ends. hangups are signals that ask for a look whether or not the file has changed.
func (r *reload) Run(ctx context.Context, hangups <-chan os.Signal) {
	log := r.fleet.log
	changes, err := r.watch(ctx)
	if err != nil {
		log.Warn("changes of the configuration are not noticed: send SIGHUP for them", "file", r.path, "error", err)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		case <-changes:
		}
		config, err := r.load()
		if err != nil {
			log.Error("the configuration is not taken, and the one before stays in effect", "error", err)
			continue
		}
		r.apply(config)
	}
}

// apply makes the difference between two configurations.
func (r *reload) apply(config *configs.Config) {
	log := r.fleet.log
	var fixed []string
	for name, same := range map[string]bool{
		"nats": reflect.DeepEqual(r.current.NATS, config.NATS), "http": reflect.DeepEqual(r.current.HTTP, config.HTTP),
		"webrtc": reflect.DeepEqual(r.current.WebRTC, config.WebRTC), "log.format": r.current.Log.Format == config.Log.Format,
	} {
		if !same {
			fixed = append(fixed, name)
		}
	}
	if len(fixed) > 0 {
		slices.Sort(fixed)
		log.Warn("these keys have changed and do not take effect while the service runs: restart it", "keys", strings.Join(fixed, ", "))
	}
	r.told(config)
	started, restarted, ended, failed := r.fleet.follow(config.Streams)
	log.Info("the configuration is taken", "started", started, "restarted", restarted, "ended", ended, "failed", failed)
}

// watch tells when what the file says has changed. It watches folders, too: editors and orchestrators replace a file, or a link on
// the way to it, and whoever watches the file alone goes on watching the old one.
func (r *reload) watch(ctx context.Context) (<-chan struct{}, error) {
	if info, err := os.Stat(r.path); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is no file that can be read twice", r.path))
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := r.places(watcher); err != nil {
		return nil, errors.Join(err, watcher.Close())
	}
	text, err := os.ReadFile(r.path)
	if err != nil {
		return nil, errors.Join(err, watcher.Close())
	}
	changes := make(chan struct{}, 1)
	go func() {
		defer watcher.Close()
		timer := time.NewTimer(time.Hour)
		timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case _, open := <-watcher.Events:
				if !open {
					return
				}
				timer.Reset(settle)
			case err := <-watcher.Errors:
				r.fleet.log.Warn("the configuration's folder is hard to watch", "error", err)
				timer.Reset(settle) // something may have been missed
			case <-timer.C:
				now, err := os.ReadFile(r.path)
				switch {
				case errors.Is(err, fs.ErrNotExist) || err == nil && slices.Equal(now, text): // it is being replaced, or something else is
				default:
					text = now
					select {
					case changes <- struct{}{}:
					default:
					}
				}
				if err := r.places(watcher); err != nil && !errors.Is(err, fs.ErrNotExist) {
					r.fleet.log.Warn("the configuration's folder is hard to watch", "error", err)
				}
			}
		}
	}()
	return changes, nil
}

// places watches the file's folder, the one that links lead to, and the file, whose folder is another one where it is mounted alone.
func (r *reload) places(watcher *fsnotify.Watcher) error {
	err := errors.Join(watcher.Add(filepath.Dir(r.path)), watcher.Add(r.path))
	if real, linked := filepath.EvalSymlinks(r.path); linked == nil {
		err = errors.Join(err, watcher.Add(filepath.Dir(real)))
	}
	return err
}

// hangups are the SIGHUPs of this process, until stop.
func hangups() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}
