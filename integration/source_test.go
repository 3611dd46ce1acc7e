package integration

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"maskstream/ingest/cameratest"
	"maskstream/rle"
)

func TestServiceLoopsAFileAndSaysWhichOneIsMissing(t *testing.T) {
	folder := t.TempDir()
	clip := filepath.Join(folder, "clip.mp4")
	if output, err := exec.Command("ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=10:duration=1", "-c:v", "mpeg4", clip).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	missing := filepath.Join(folder, "missing.mp4")
	s := serve(t, "-c", configure(t, "  - {name: lap, url: '"+clip+"', loop: true}\n  - {name: missing, url: '"+missing+"'}"))
	bus := listen(t, s)
	// Laps are short, and the bus was heard from some lap on.
	var frames []rle.Frame
	until(t, "three whole laps", func() bool {
		frames, _ = bus.frames(t, "lap")
		return len(frames) > 0 && frames[len(frames)-1].Epoch > frames[0].Epoch+3
	})
	for lap := frames[0].Epoch + 1; lap < frames[0].Epoch+4; lap++ {
		var numbers []int
		for _, f := range frames {
			if f.Epoch == lap {
				numbers = append(numbers, f.Frame)
			}
		}
		if !slices.Equal(numbers, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
			t.Errorf("lap %d has the frames %v", lap, numbers)
		}
	}
	r, status := s.readiness(t)
	if got := r.Streams["missing"]; status != 503 || !slices.Equal(r.Down, []string{"missing"}) || got.State != "ended" || got.Code != "not_found" || !strings.Contains(got.Error, missing) {
		t.Errorf("/readyz: %d %+v", status, r)
	}
	if n := s.sum(t, "tracker_source_failures_total", `stream="missing"`, `reason="not_found"`); n != 1 {
		t.Errorf("%v failures are counted", n)
	}
}

// TestTrackSaysInOneLineWhatIsWrongWithItsInput looks at the exit status too: 1 is what may be mended elsewhere, 2 what is written wrong.
func TestTrackSaysInOneLineWhatIsWrongWithItsInput(t *testing.T) {
	locked := cameratest.Start(t, cameratest.Options{User: "admin", Password: "geheim"}).URL()
	modern := cameratest.Start(t, cameratest.Options{User: "admin", Password: "geheim", Auth: "sha256"}).URL()
	login := func(url, password string) string { return strings.Replace(url, "://", "://admin:"+password+"@", 1) }
	for name, c := range map[string]struct {
		input  string
		status int
		says   string
	}{
		"wrong password":       {login(locked, "falsch"), 1, "check username and password"},
		"no password":          {locked, 1, "give username and password"},
		"SHA-256 only":         {login(modern, "geheim"), 1, "set the camera's RTSP authentication to Digest MD5 or Basic"},
		"wrong path":           {strings.Replace(login(locked, "geheim"), "/main", "/other", 1), 1, "check the path of the URL"},
		"missing file":         {"/no/such.mp4", 1, "opening /no/such.mp4: not found; check the name"},
		"unknown host":         {"rtsp://camera.invalid/main", 1, "check the host's name"},
		"refused port":         {"rtsp://" + cameratest.FreeAddress(t) + "/main", 1, "check that the source is on"},
		"unknown codec":        {cameratest.Start(t, cameratest.Options{Codec: "av1"}).URL(), 1, "set the camera to H.264 or H.265"},
		"sound only":           {cameratest.Start(t, cameratest.Options{Codec: "audio"}).URL(), 1, "check that the source has video"},
		"certificate of none":  {login(cameratest.Start(t, cameratest.Options{TLS: true}).URL(), "geheim"), 1, "certificate not trusted"},
		"password not encoded": {login(locked, "ge#heim"), 2, "percent-encode"},
		"no such protocol":     {"gopher://camera.example/", 1, "use a file, rtsp(s)"},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, "track", c.input, "--point", "1,1")
			t.Log(strings.TrimSpace(r.stderr))
			if r.status != c.status || !strings.Contains(r.stderr, c.says) || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
				t.Errorf("exit status %d, stdout %q, stderr %q; want %d, %q", r.status, r.stdout, r.stderr, c.status, c.says)
			}
			for _, secret := range []string{"geheim", "falsch", "heim"} {
				if strings.Contains(r.stderr, secret) {
					t.Errorf("the password is shown: %s", r.stderr)
				}
			}
		})
	}
}
