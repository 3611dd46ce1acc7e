package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"maskstream/ingest/cameratest"
)

// A user and a password of what people are afraid to use, and how a URL has them.
const (
	specialUser     = "ad min"
	specialPassword = "p@ss:w/#%?!"
	encodedUser     = "ad%20min"
	encodedPassword = "p%40ss%3Aw%2F%23%25%3F%21"
)

// passwordFile holds the password as an editor leaves it, with a line end.
func passwordFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte(specialPassword+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTrial2SpecialPassword gives a password in every way there is, for every way in which cameras ask.
func TestTrial2SpecialPassword(t *testing.T) {
	for server, start := range cameras {
		for _, auth := range []string{"basic", "digest"} {
			t.Run(server+"/"+auth, func(t *testing.T) {
				password, encoded, file := specialPassword, encodedPassword, passwordFile(t)
				if server == "gortsplib" && auth == "basic" { // this server takes a colon for the end of the password
					password, encoded = "p@ssw/#%?!", "p%40ssw%2F%23%25%3F%21"
					if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				camera := start(t, cameratest.Options{User: specialUser, Password: password, Auth: auth})
				t.Setenv("GATE_PASSWORD", password)
				t.Setenv("TRACKER_STREAMS_3_PASSWORD", password)
				address := camera.URL()
				s := serve(t, "-c", configure(t, fmt.Sprintf(`  - {name: field, url: '%[1]s', username: '%[3]s', password: '%[4]s'}
  - {name: url, url: 'rtsp://%[5]s:%[6]s@%[2]s'}
  - {name: reference, url: '%[1]s', username: '%[3]s', password: '${GATE_PASSWORD}'}
  - {name: variable, url: '%[1]s', username: '%[3]s'}
  - {name: file, url: '%[1]s', username: '%[3]s', password_file: '%[7]s'}`,
					address, address[len("rtsp://"):], specialUser, password, encodedUser, encoded, file)+"\nlog: {level: debug}"))
				bus := listen(t, s)
				until(t, "readiness of all five", func() bool { r, _ := s.readiness(t); return r.Ready && len(r.Streams) == 5 })
				for _, name := range []string{"field", "url", "reference", "variable", "file"} {
					until(t, "picture of "+name, func() bool { frames, _ := bus.frames(t, name); return len(frames) > 0 })
				}
			})
		}
	}
}
