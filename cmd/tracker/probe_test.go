package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProbeSaysWhatAFileIs(t *testing.T) {
	video := func(size string, arguments ...string) []string {
		return append([]string{"-f", "lavfi", "-i", "testsrc2=size=" + size + ":rate=25:duration=1"}, arguments...)
	}
	for name, c := range map[string]struct {
		file string
		args []string
		want string   // a part of the object
		says []string // lines of the text, spaces squeezed
	}{
		"camera-like H.264": {"a.mp4", video("320x180", "-c:v", "libx264", "-bf", "0", "-profile:v", "main", "-pix_fmt", "yuv420p"),
			`{"container":"mov,mp4,m4a,3gp,3g2,mj2","codec":"h264","profile":"Main","pixel_format":"yuv420p","coded_size":[320,192],"size":[320,180],"fps":25,"duration":1,"frames":25,"live":false,
			 "matrix":{"value":"bt601","assumed":true},"range":{"value":"limited","assumed":true},"b_frames":false,"rotation":0,"mirrored":false,"interlaced":"no","time_base":[1,12800],"preview":{"passed_through":true,"reason":""}}`,
			[]string{"codec h264 Main", "size 320×180, coded as 320×192", "frame rate 25 a second", "duration 1s, about 25 frames", "matrix bt601, assumed: the source does not say", "preview passed through as it is"}},
		"B-frames and tags": {"a.mkv", video("1280x720", "-c:v", "libx264", "-bf", "2", "-preset", "ultrafast", "-x264-params", "bframes=2", "-pix_fmt", "yuv420p", "-colorspace", "bt709", "-color_range", "tv", "-color_trc", "bt709", "-frames:v", "5"),
			`{"b_frames":true,"matrix":{"value":"bt709","assumed":false},"range":{"value":"limited","assumed":false},"transfer":"bt709","preview":{"passed_through":false,"reason":"the source has B-frames, which browsers show late and out of step"}}`,
			[]string{"B-frames yes", "preview coded again as H.264: the source has B-frames, which browsers show late and out of step"}},
		"720 lines without tags": {"a.mp4", video("1280x720", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-frames:v", "2"),
			`{"matrix":{"value":"bt709","assumed":true}}`, nil},
		"HEVC of 10 bit HDR": {"a.mp4", video("160x90", "-c:v", "libx265", "-preset", "ultrafast", "-pix_fmt", "yuv420p10le", "-x265-params", "log-level=none", "-color_trc", "smpte2084", "-colorspace", "bt2020nc"),
			`{"codec":"hevc","profile":"Main 10","pixel_format":"yuv420p10le","transfer":"smpte2084","matrix":{"value":"bt2020","assumed":false},"preview":{"passed_through":false,"reason":"the source is hevc, not H.264"}}`,
			[]string{"transfer smpte2084 (HDR, which is taken as it is: pictures look flat)"}},
		"turned": {"r.mp4", video("320x180", "-c:v", "libx264", "-bf", "0", "-pix_fmt", "yuv420p"),
			`{"size":[180,320],"coded_size":[320,192],"rotation":90,"preview":{"passed_through":false,"reason":"the source has to be turned upright"}}`,
			[]string{"rotation 90° clockwise", "size 180×320, coded as 320×192"}},
		"interlaced": {"a.ts", video("320x192", "-c:v", "mpeg2video", "-flags", "+ilme+ildct", "-top", "1", "-vf", "interlace"),
			`{"codec":"mpeg2video","interlaced":"top field first","time_base":[1,90000]}`, []string{"interlaced top field first"}},
		"full range, wide pixels": {"a.avi", video("180x144", "-c:v", "mjpeg", "-vf", "setsar=16/15"),
			`{"codec":"mjpeg","pixel_format":"yuvj420p","range":{"value":"full","assumed":false},"pixel_aspect":[16,15]}`, []string{"size 180×144, pixels are 16:15", "range full"}},
		"a picture": {"0.png", video("64x48", "-frames:v", "1", "-pix_fmt", "pal8"),
			`{"container":"images","codec":"png","size":[64,48],"frames":1,"matrix":{"value":"rgb","assumed":false},"range":{"value":"full","assumed":false}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := makeClip(t, append(c.args, filepath.Join(t.TempDir(), c.file))...)
			if name == "turned" { // which ffmpeg notes on copies only
				path = makeClip(t, "-i", path, "-c", "copy", "-metadata:s:v:0", "rotate=270", filepath.Join(t.TempDir(), c.file))
			}
			stdout, stderr, status := call(t, "", "probe", "--json", path)
			if status != exitDone || stderr != "" {
				t.Fatalf("exit status %d, stderr %q", status, stderr)
			}
			var got, want map[string]any
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			for key, value := range want {
				if fmt.Sprint(got[key]) != fmt.Sprint(value) {
					t.Errorf("%s is %v, want %v", key, got[key], value)
				}
			}
			text, _, _ := call(t, "", "probe", path)
			var lines []string
			for line := range strings.Lines(text) {
				lines = append(lines, strings.Join(strings.Fields(line), " "))
			}
			for _, line := range c.says {
				if !strings.Contains("\n"+strings.Join(lines, "\n")+"\n", "\n"+line+"\n") {
					t.Errorf("no line %q in\n%s", line, text)
				}
			}
		})
	}
}

func TestProbeCountsNoFramesThatTheSourceDoesNotTell(t *testing.T) {
	var out strings.Builder
	if err := (probed{Duration: 5, FPS: 15}).print(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), " 5s\n") || strings.Contains(out.String(), "frames\n") {
		t.Error(out.String())
	}
}

func TestProbeOfTheSceneIsLive(t *testing.T) {
	stdout, _, status := call(t, "", "probe", "--json", "testscene:")
	if status != exitDone || !strings.Contains(stdout, `"live":true`) || !strings.Contains(stdout, `"duration":0`) {
		t.Errorf("exit status %d, %s", status, stdout)
	}
}

func TestProbeThatFailsIsOneLineWithoutSecrets(t *testing.T) {
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("g%h/im\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		arguments string
		status    int
		says      string
	}{
		"no file":          {"nowhere.mp4", exitFailed, "nowhere.mp4: not found"},
		"no server":        {"rtsp://me:geheim@127.0.0.1:1/x?token=geheim", exitFailed, "opening rtsp://127.0.0.1:1/x: unreachable"},
		"password apart":   {"rtsp://127.0.0.1:1/x --username me --password-file " + password, exitFailed, "unreachable"},
		"no password file": {"rtsp://127.0.0.1:1/x --password-file nowhere", exitUsage, "--password-file: "},
		"no device":        {"/dev/video77", exitFailed, "/dev/video77: not found"},
		"two":              {"a b", exitUsage, "one URL is needed, there are 2"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, status := call(t, "", append([]string{"probe"}, strings.Fields(c.arguments)...)...)
			if status != c.status || stdout != "" || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
			}
			if strings.Contains(stderr, "geheim") || strings.Contains(stderr, "g%h") {
				t.Errorf("stderr shows the password: %q", stderr)
			}
		})
	}
}
