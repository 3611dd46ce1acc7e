package main

import (
	"maps"
	"reflect"
	"slices"

	"maskstream/configs"
)

// file runs a stream of the configuration.
func (f *fleet) file(config configs.Stream) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.take(config)
}

// take runs a stream of the configuration, and notes what it says. The fleet is locked.
func (f *fleet) take(config configs.Stream) error {
	if err := f.put(config, false); err != nil {
		return err
	}
	f.filed[config.Name] = config
	return nil
}

// follow brings the streams to what the file says now, as far as that is not what it said before. A stream that cannot be run is
// reported, and tried again the next time.
func (f *fleet) follow(streams []configs.Stream) (started, restarted, ended, failed []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx == nil || f.ctx.Err() != nil {
		return
	}
	f.named = len(streams)
	named := map[string]bool{}
	for _, s := range streams {
		named[s.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(f.filed)) {
		if named[name] {
			continue
		}
		delete(f.filed, name)
		if b := f.berths[name]; b != nil && !b.request {
			f.drop(name)
			ended = append(ended, name)
		}
	}
	for _, s := range streams {
		b, before := f.berths[s.Name], f.filed[s.Name]
		switch news := !reflect.DeepEqual(before, s); {
		case !news && (b == nil || b.request): // a request has ended it, or made another one of it
			continue
		case b != nil && b.is(s):
			b.request, f.filed[s.Name] = false, s
			continue
		}
		if err := f.take(s); err != nil {
			f.log.Error("a stream of the configuration cannot be run", "error", err)
			failed = append(failed, s.Name)
			continue
		}
		if b == nil {
			started = append(started, s.Name)
		} else {
			restarted = append(restarted, s.Name)
		}
	}
	return started, restarted, ended, failed
}
