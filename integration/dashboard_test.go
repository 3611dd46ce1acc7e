package integration

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"maskstream/ingest/cameratest"
)

var (
	metricName  = regexp.MustCompile(`\b(tracker|go|process)_[a-z_]+\b`)
	metricLabel = regexp.MustCompile(`\{([a-z_]+)=~`)
	groupLabels = regexp.MustCompile(`by \(([a-z_, ]+)\)`)
	legendLabel = regexp.MustCompile(`\{\{([a-z_]+)\}\}`)
)

// TestDashboardShowsWhatIsMeasured looks for every metric of the dashboard, with the labels that it is asked by, in what a service tells
// after things have happened to it.
func TestDashboardShowsWhatIsMeasured(t *testing.T) {
	text, err := os.ReadFile("../deploy/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}

	t.Setenv("XDG_STATE_HOME", t.TempDir())
	camera := cameratest.Start(t, cameratest.Options{})
	config := configure(t, "  - {name: scene, url: 'testscene:?fps=10', history: 5, prompts: [{object: 1, box: [418, 101, 544, 227]}]}\n  - {name: gate, url: '"+camera.URL()+"', timeout: 5s, history: 5}")
	yaml, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, config, strings.Replace(string(yaml), "frames: true", "frames: true, jetstream: true", 1))
	s := serve(t, "-c", config)
	s.up(t, "scene")
	s.up(t, "gate")
	camera.Close()
	for name, labels := range map[string][]string{ // what must have been counted by now
		"tracker_source_up":                           {`stream="scene"`},
		"tracker_source_frames_decoded_total":         {`stream="gate"`},
		"tracker_source_last_frame_timestamp_seconds": {`stream="gate"`},
		"tracker_source_reconnects_total":             {`stream="gate"`, `reason="`},
		"tracker_source_failures_total":               {`stream="gate"`, `reason="`},
		"tracker_objects":                             {`stream="scene"`},
		"tracker_masks_encoded_bytes_total":           {`stream="scene"`},
		"tracker_frame_latency_seconds_count":         {`stage="publish"`},
		"tracker_frame_latency_seconds_sum":           {`stage="infer"`},
		"tracker_frame_latency_seconds_bucket":        {`stage="encode"`},
		"tracker_nats_connected":                      nil,
		"tracker_nats_publish_total":                  {`result="ok"`},
		"tracker_nats_publish_bytes_total":            nil,
		"tracker_jetstream_total":                     {`result="ok"`},
		"tracker_sink_written_total":                  {`stream="scene"`, `sink="nats"`},
		"tracker_history_frames":                      {`stream="scene"`},
		"tracker_pool_live_bytes":                     {`stream="scene"`},
		"tracker_build_info":                          {`version="`},
		"process_resident_memory_bytes":               nil,
	} {
		until(t, "value of "+name, func() bool { return s.sum(t, name, labels...) > 0 })
	}

	told := map[string]string{} // by name, a sample's labels
	for line := range strings.Lines(s.text(t, "/metrics")) {
		if series, _, _ := strings.Cut(line, " "); !strings.HasPrefix(line, "#") {
			name, labels, _ := strings.Cut(series, "{")
			told[name] = labels
		}
	}
	asked := map[string]bool{}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			names := metricName.FindAllString(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%s asks for nothing: %s", panel.Title, target.Expr)
			}
			var labels []string
			for _, m := range metricLabel.FindAllStringSubmatch(target.Expr, -1) {
				labels = append(labels, m[1])
			}
			for _, m := range groupLabels.FindAllStringSubmatch(target.Expr, -1) {
				labels = append(labels, strings.Split(m[1], ", ")...)
			}
			for _, m := range legendLabel.FindAllStringSubmatch(target.LegendFormat, -1) {
				labels = append(labels, m[1])
			}
			for _, name := range names {
				asked[name] = true
				if has, known := told[name]; !known {
					t.Errorf("%s: there is no metric %s", panel.Title, name)
				} else {
					for _, label := range labels {
						if !strings.Contains(","+has, ","+label+`="`) {
							t.Errorf("%s: %s has no label %s: %s", panel.Title, name, label, has)
						}
					}
				}
			}
		}
	}
	if len(asked) < 20 {
		t.Errorf("only %d metrics are shown", len(asked))
	}
}
