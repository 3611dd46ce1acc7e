package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"

	"maskstream/configs"
	"maskstream/control"
	"maskstream/ingest"
	"maskstream/sink/rtc"
)

// fleet is the cameras of this process. They come and go while it runs, one change at a time, and none disturbs the others. Run
// starts those that are there.
//
// What came by request stays as it was asked for until the process ends, or until the configuration file says something else about
// the stream than before.
type fleet struct {
	wiring
	service *control.Service

	mu     sync.Mutex // held for the whole of a change
	ctx    context.Context
	berths map[string]*berth
	filed  map[string]configs.Stream // what the file said of the streams, as far as it could be done
	named  int                       // streams that the file names

	running sync.WaitGroup
}

// berth is a camera's place.
type berth struct {
	config  configs.Stream
	secrets ingest.Options // as its files had them
	request bool           // it came by request, and not from the file
	camera  *camera
	stop    context.CancelCauseFunc // nil before it runs
	ended   chan struct{}
}

// maxStreams is how many a request may make of them. What the file names is the operator's own affair.
const maxStreams = 64

// What subscribers are told when a stream ends that could go on.
var (
	errDropped   = errors.New("the stream was dropped")
	errRestarted = errors.New("the stream is started anew")
)

// newFleet has room for so many streams, and for more.
func newFleet(w wiring, named int, service *control.Service) *fleet {
	return &fleet{named: named, wiring: w, service: service, berths: map[string]*berth{}, filed: map[string]configs.Stream{}}
}

// Run runs the cameras until ctx ends and they have ended.
func (f *fleet) Run(ctx context.Context) {
	f.mu.Lock()
	f.ctx = ctx
	for _, b := range f.berths {
		f.start(b)
	}
	f.mu.Unlock()
	<-ctx.Done()
	f.mu.Lock() // a change under way comes to its end, and none follows
	defer f.mu.Unlock()
	f.running.Wait()
}

// close frees what Run has left behind.
func (f *fleet) close() {
	for _, b := range f.berths {
		b.camera.close()
	}
}

// Add implements control.Keeper.
func (f *fleet) Add(_ context.Context, config configs.Stream) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx == nil || f.ctx.Err() != nil {
		return control.Errorf(control.Unavailable, "the service is starting or ending")
	}
	b := f.berths[config.Name]
	switch {
	case b != nil && b.is(config):
		return nil
	case b == nil && len(f.berths) >= maxStreams:
		return control.Errorf(control.Unavailable, "there are %d streams, which is the most: drop one", len(f.berths))
	}
	if err := f.put(config, true); err != nil {
		var usage usageError
		if errors.As(err, &usage) {
			return control.Errorf(control.BadRequest, "%v", err)
		}
		return err
	}
	f.log.Info("stream added by request", "stream", config.Name, "url", config.URL)
	return nil
}

// Drop implements control.Keeper.
func (f *fleet) Drop(_ context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.berths[name] == nil {
		return control.Errorf(control.NotFound, "there is no stream %q: GET /api/streams lists them", name)
	}
	f.drop(name)
	f.log.Info("stream dropped by request", "stream", name)
	return nil
}

// put runs a stream, in the place of one that had its name; where it cannot be run, that one stays. The fleet is locked.
func (f *fleet) put(config configs.Stream, request bool) error {
	secrets, err := sourceOptions(config)
	if err != nil {
		return usageError{fmt.Errorf("stream %s: %w", config.Name, err)}
	}
	// Memory is shared out among the streams there are. Those that run keep their share.
	c, err := newCamera(config, max(f.named, len(f.berths)+1), secrets, f.wiring)
	if err != nil {
		return fmt.Errorf("stream %s: %w", config.Name, err)
	}
	if old := f.berths[config.Name]; old != nil {
		old.end(errRestarted)
	}
	b := &berth{config: config, secrets: secrets, request: request, camera: c, ended: make(chan struct{})}
	f.berths[config.Name] = b
	f.service.Put(config.Name, c.stream)
	if f.ctx != nil {
		f.start(b)
	}
	return nil
}

// drop ends a stream and forgets it. The fleet is locked.
func (f *fleet) drop(name string) {
	if err := f.service.Drop(name); err != nil {
		f.log.Error("a stream was not known", "error", err)
	}
	f.berths[name].end(errDropped)
	delete(f.berths, name)
}

// start runs a camera. One that fails is reported and leaves the others alone. The fleet is locked.
func (f *fleet) start(b *berth) {
	ctx, stop := context.WithCancelCause(f.ctx)
	b.stop = stop
	f.running.Go(func() {
		defer close(b.ended)
		defer stop(nil)
		if err := b.camera.run(ctx); err != nil && ctx.Err() == nil {
			f.log.Error("stream has ended", "stream", b.camera.name, "error", err)
		}
	})
}

// end waits until nothing of the camera is left.
func (b *berth) end(why error) {
	if b.stop != nil {
		b.stop(why)
		<-b.ended
	}
	b.camera.close()
}

// is says whether the camera is what a configuration asks for, down to what its secret files say now.
func (b *berth) is(config configs.Stream) bool {
	secrets, err := sourceOptions(config)
	return err == nil && reflect.DeepEqual(b.config, config) && reflect.DeepEqual(b.secrets, secrets)
}

// wiring is what all cameras share.
type wiring struct {
	nats    configs.NATS
	bus     *bus
	viewers *rtc.Server
	models  *models
	log     *slog.Logger
}
