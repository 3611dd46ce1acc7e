package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"maskstream/ingest"
	"maskstream/rle"
)

// service is a running tracker run.
type service struct {
	command   *exec.Cmd
	page, bus string // addresses
	webrtc    string
	log       *bytes.Buffer
	logging   sync.Mutex    // of log, until its end
	logged    chan struct{} // closed at the log's end
}

// logText is what the service has logged so far.
func (s *service) logText() string {
	s.logging.Lock()
	defer s.logging.Unlock()
	return s.log.String()
}

var addresses = regexp.MustCompile(`preview=(http://\S+) nats=(nats://\S+).* webrtc=(\S+)`)

// serve starts the service and waits for the line that names its addresses.
func serve(t *testing.T, arguments ...string) *service {
	t.Helper()
	s := &service{command: exec.Command(tracker, append([]string{"run"}, arguments...)...), log: &bytes.Buffer{}, logged: make(chan struct{})}
	stderr, err := s.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan []string, 1)
	go func() {
		defer close(s.logged)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			s.logging.Lock()
			fmt.Fprintln(s.log, lines.Text())
			s.logging.Unlock()
			if m := addresses.FindStringSubmatch(lines.Text()); m != nil {
				ready <- m
			}
		}
	}()
	t.Cleanup(func() {
		s.command.Process.Kill() // harmless where it has ended
		<-s.logged
		s.command.Wait()
		if t.Failed() {
			t.Logf("the service's log:\n%s", s.log)
		}
	})
	select {
	case m := <-ready:
		s.page, s.bus, s.webrtc = m[1], m[2], m[3]
	case <-time.After(30 * time.Second):
		t.Fatal("the service names no addresses within 30 s")
	}
	return s
}

// end asks the service to end and returns its exit status.
func (s *service) end(t *testing.T) int {
	t.Helper()
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.logged:
	case <-time.After(20 * time.Second):
		t.Fatal("the service does not end within 20 s of SIGTERM")
	}
	s.command.Wait()
	return s.command.ProcessState.ExitCode()
}

// request sends one request and decodes its JSON answer into reply, which may be nil.
func (s *service) request(t *testing.T, method, path, body string, reply any) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.page+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if reply != nil {
		if err := json.Unmarshal(data, reply); err != nil {
			t.Fatalf("%s %s: %d %s: %v", method, path, response.StatusCode, data, err)
		}
	}
	return response.StatusCode
}

// text is what one address of the service answers.
func (s *service) text(t *testing.T, path string) string {
	t.Helper()
	response, err := http.Get(s.page + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// truth is the scene's own mask of an object.
func truth(t *testing.T, frame, object int) rle.Mask {
	t.Helper()
	scene, err := ingest.ParseTestScene("testscene:")
	if err != nil {
		t.Fatal(err)
	}
	return scene.Mask(frame, object)
}

func TestDemoFollowsItsObjectOntoTheBus(t *testing.T) {
	s := serve(t)
	connection, err := nats.Connect(s.bus)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	objects, err := connection.SubscribeSync("tracker.demo.object.1")
	if err != nil {
		t.Fatal(err)
	}
	statuses, err := connection.SubscribeSync("tracker.demo.status")
	if err != nil {
		t.Fatal(err)
	}

	var total float64
	const batches = 25
	last := int64(-1)
	for range batches {
		message, err := objects.NextMsg(30 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var batch rle.Batch
		if err := json.Unmarshal(message.Data, &batch); err != nil {
			t.Fatal(err)
		}
		m := batch.Masks[0]
		if batch.Stream != "demo" || batch.Object != 1 || batch.Size != [2]int{360, 640} || len(batch.Masks) != 1 || m.Counts == nil || m.Seq <= last {
			t.Fatalf("batch %s", message.Data)
		}
		last = m.Seq
		if want := fmt.Sprintf("demo/%s/%d/%d/1", batch.Run, batch.Epoch, m.Seq); message.Header.Get(nats.MsgIdHdr) != want {
			t.Errorf("message id %q, want %q", message.Header.Get(nats.MsgIdHdr), want)
		}
		mask, err := rle.Parse(batch.Size[0], batch.Size[1], *m.Counts)
		if err != nil {
			t.Fatal(err)
		}
		iou, _ := overlapOf(t, mask, truth(t, m.Frame, 1))
		total += iou
	}
	// The built-in model holds the ball with an IoU around 0.9; a mask beside its picture would be far below this.
	if mean := total / batches; mean < 0.6 {
		t.Errorf("mean IoU with the scene's own mask is %.2f", mean)
	} else {
		t.Logf("mean IoU with the scene's own mask over %d frames: %.3f", batches, mean)
	}

	var status rle.Status
	for status.Frames == 0 { // on a busy machine the first ones come before the first frame
		message, err := statuses.NextMsg(10 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(message.Data, &status); err != nil {
			t.Fatalf("status %s, %v", message.Data, err)
		}
	}
	if status.State != "up" || len(status.Objects) != 1 {
		t.Errorf("status %+v", status)
	}
	if code := s.end(t); code != 0 {
		t.Errorf("exit status %d after SIGTERM", code)
	}
}

func TestDemoTakesClicksAndShowsThePicture(t *testing.T) {
	s := serve(t)
	var streams struct {
		Streams []struct {
			Name, State string
			Objects     []struct{ ID int }
		}
	}
	soon(t, "an object", func() error {
		if s.request(t, "GET", "/api/streams", "", &streams); len(streams.Streams) != 1 || len(streams.Streams[0].Objects) != 1 {
			return fmt.Errorf("%+v", streams)
		}
		return nil
	})
	var answer rle.Frame
	if code := s.request(t, "POST", "/api/streams/demo/prompts", `{"points":[[320,20]],"labels":[1]}`, &answer); code != http.StatusOK {
		t.Fatalf("prompt: status %d", code)
	}
	if len(answer.Objects) != 2 || answer.Objects[1].ID != 2 || answer.Direction != rle.Prompted {
		t.Fatalf("answer %+v", answer)
	}
	if _, err := rle.ParseCOCO(answer.Objects[1].Segmentation); err != nil {
		t.Error(err)
	}
	var removed struct{ Removed int }
	if code := s.request(t, "DELETE", "/api/streams/demo/objects/2", "", &removed); code != http.StatusOK || removed.Removed != 2 {
		t.Errorf("remove: status %d, %+v", code, removed)
	}
	var failure struct {
		Error struct{ Code, Message string }
	}
	if code := s.request(t, "POST", "/api/streams/demo/prompts", `{"points":[[1,2]]}`, &failure); code != http.StatusBadRequest || failure.Error.Code != "bad_request" {
		t.Errorf("a prompt without labels: status %d, %+v", code, failure)
	}
	if code := s.request(t, "GET", "/healthz", "", nil); code != http.StatusOK {
		t.Errorf("healthz: status %d", code)
	}
	s.picture(t)
}

// picture reads one picture of the preview.
func (s *service) picture(t *testing.T) {
	t.Helper()
	response, err := http.Get(s.page + "/preview/demo.mjpeg")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	_, parameters, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	part, err := multipart.NewReader(response.Body, parameters["boundary"]).NextPart()
	if err != nil {
		t.Fatal(err)
	}
	img, err := jpeg.Decode(part)
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size.X != 640 || size.Y != 360 {
		t.Errorf("the preview's picture is %v", size)
	}
}
