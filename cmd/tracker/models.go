package main

import (
	"fmt"
	"os"
	"sync"

	"maskstream/model/ort"
	"maskstream/tensor"
)

// models are the networks in use. Streams with the same model share one, since its weights are by far the most of it and running it
// changes nothing in it; what it makes for a stream lives in that stream's pool. Safe for concurrent use.
type models struct {
	mu     sync.Mutex
	loaded map[string]*sharedModel
}

type sharedModel struct {
	network *ort.Network
	users   int
}

func newModels() *models { return &models{loaded: map[string]*sharedModel{}} }

// open gives a stream its network, and the function that gives it back.
func (m *models) open(model, config string, pool *tensor.Pool) (_ *ort.Network, giveBack func() error, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := fmt.Sprint(contents(model), contents(config))
	shared := m.loaded[key]
	if shared == nil {
		network, err := openModel(model, config, 0, nil)
		if err != nil {
			return nil, nil, err
		}
		shared = &sharedModel{network: network}
		m.loaded[key] = shared
	}
	shared.users++
	return shared.network.With(pool), func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if shared.users--; shared.users > 0 {
			return nil
		}
		delete(m.loaded, key)
		return shared.network.Close()
	}, nil
}

// contents tells a file from what had its name before. A name that is no file's stands for itself.
func contents(name string) string {
	info, err := os.Stat(name)
	if name == "" || err != nil {
		return fmt.Sprintf("%q", name)
	}
	return fmt.Sprintf("%q %d %d", name, info.Size(), info.ModTime().UnixNano())
}
