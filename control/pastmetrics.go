package control

import "github.com/prometheus/client_golang/prometheus"

// pastMetrics say what streams keep of their past and do with it, and what lies and moves in their pools: with offloading, moved
// bytes are its price.
type pastMetrics struct {
	service *Service
	past    []pastFamily
	pools   []poolFamily
	results family
}

type pastFamily struct {
	family
	value func(PastCounters) float64
}

type poolFamily struct {
	family
	value func(PoolStats) int64
}

func newPastMetrics(service *Service) *pastMetrics {
	return &pastMetrics{
		service: service,
		past: []pastFamily{
			{gauge("tracker_history_frames", "Frames kept for prompts in the past and reverse passes.", "stream"), func(p PastCounters) float64 { return float64(p.Frames) }},
			{gauge("tracker_history_bytes", "Bytes of the frames kept.", "stream"), func(p PastCounters) float64 { return float64(p.Bytes) }},
			{counter("tracker_history_left_out_total", "Frames that found no room in the history.", "stream"), func(p PastCounters) float64 { return float64(p.NotKept) }},
		},
		pools: []poolFamily{
			{gauge("tracker_pool_live_bytes", "Bytes of tensors in use.", "stream", "pool"), func(p PoolStats) int64 { return p.LiveBytes }},
			{gauge("tracker_pool_idle_bytes", "Bytes kept for the next tensors.", "stream", "pool"), func(p PoolStats) int64 { return p.IdleBytes }},
			{counter("tracker_pool_moved_bytes_total", "Bytes brought into a pool from another.", "stream", "pool"), func(p PoolStats) int64 { return p.MovedIn }},
		},
		results: counter("tracker_past_results_total", "Results about frames that had gone by, by what asked for them.", "stream", "pass"),
	}
}

// Describe implements prometheus.Collector.
func (m *pastMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, f := range m.past {
		to <- f.Desc
	}
	for _, f := range m.pools {
		to <- f.Desc
	}
	to <- m.results.Desc
}

// Collect implements prometheus.Collector.
func (m *pastMetrics) Collect(to chan<- prometheus.Metric) {
	for _, s := range m.service.Statuses() {
		past := s.Counters.Past
		for _, f := range m.past {
			to <- f.sample(f.value(past), s.Name)
		}
		to <- m.results.sample(float64(past.CaughtUp), s.Name, "catch_up")
		to <- m.results.sample(float64(past.Reversed), s.Name, "reverse")
		for _, pool := range s.Counters.Pools {
			for _, f := range m.pools {
				to <- f.sample(float64(f.value(pool)), s.Name, pool.Name)
			}
		}
	}
}
