package sink

import "testing"

func TestARecordingLosesNothingInTheSmallestSpool(t *testing.T) {
	server := jetStreamServer(t, "")
	url := "nats://" + server.address
	s := store(t, connect(t, NATSOptions{URL: url}), StoreOptions{Folder: t.TempDir(), Bytes: 1 << 20})
	file := publisher(t, s.connection, StreamOptions{Store: s.Store, Hold: true})
	masks := noise(100, 200, 1) // about 10 kB
	const frames = 300
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range frames {
			if err := file.Write(t.Context(), Item{Result: result(i, masks)}); err != nil {
				t.Error(err)
			}
		}
	}()
	until(t, "much to wait", func() bool { return s.Stats().Waiting >= 20 })
	server.start()
	<-done
	until(t, "everything to be stored", func() bool { return s.Stats().Waiting == 0 })
	if dropped := s.Stats().Dropped; dropped != 0 {
		t.Errorf("%d messages are dropped", dropped)
	}
	wantFrames(t, storedFrames(t, url), 0, frames)
}
