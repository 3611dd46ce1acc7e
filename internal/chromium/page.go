// Package chromium drives a page in a headless Chromium, for tests: it gives orders of the DevTools protocol over a pipe.
//
//	page := chromium.Open(t, url, 1280, 800, false)
//	page.Until("the picture", "document.querySelector('#frame.shown')")
//	page.Screenshot("desktop.png") // into the test's artifacts
package chromium

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Patience is how long Until waits.
const Patience = 60 * time.Second

// Page is one page in a browser of its own. One goroutine at a time.
type Page struct {
	Console []string // errors that the page logged or threw

	t       *testing.T
	command *exec.Cmd
	killed  bool
	in      *os.File
	out     *bufio.Reader
	session string
	calls   int
}

// Open starts a browser, which ends with the test. mobile is a phone: touches, and the whole width.
func Open(t *testing.T, url string, width, height int, mobile bool, flags ...string) *Page {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("needs chromium: apt-get install chromium")
	}
	ordersOut, ordersIn, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answersOut, answersIn, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(path, append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
		"--disable-background-networking", "--user-data-dir=" + t.TempDir()}, append(flags, "about:blank")...)...)
	command.ExtraFiles = []*os.File{ordersOut, answersIn} // 3 and 4, as the option wants
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ordersOut.Close()
	answersIn.Close()
	p := &Page{t: t, command: command, in: ordersIn, out: bufio.NewReader(answersOut)}
	t.Cleanup(func() {
		if !p.killed {
			p.Call("Browser.close", nil)
		}
		_ = command.Wait() // whatever its status
		ordersIn.Close()
		answersOut.Close()
	})
	var target struct{ TargetID, SessionID string }
	p.into(&target, "Target.createTarget", map[string]any{"url": "about:blank"})
	p.into(&target, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	p.session = target.SessionID
	p.Call("Runtime.enable", nil)
	p.Call("Log.enable", nil)
	p.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile})
	p.Call("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": mobile})
	p.Call("Page.navigate", map[string]any{"url": url})
	return p
}

// Call gives one order and waits for its result.
func (p *Page) Call(method string, params any) json.RawMessage {
	p.t.Helper()
	p.calls++
	order, err := json.Marshal(map[string]any{"id": p.calls, "method": method, "params": params, "sessionId": p.session})
	if err != nil {
		p.t.Fatal(err)
	}
	if p.session == "" {
		order = []byte(strings.Replace(string(order), `,"sessionId":""`, "", 1))
	}
	if params == nil {
		order = []byte(strings.Replace(string(order), `,"params":null`, "", 1))
	}
	if _, err := p.in.Write(append(order, 0)); err != nil {
		p.t.Fatal(err)
	}
	for {
		text, err := p.out.ReadBytes(0)
		if err != nil {
			if method == "Browser.close" {
				return nil
			}
			p.t.Fatal(err)
		}
		var answer struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(text[:len(text)-1], &answer); err != nil {
			p.t.Fatal(err)
		}
		if answer.Method == "Runtime.exceptionThrown" || answer.Method == "Log.entryAdded" && strings.Contains(string(answer.Params), `"level":"error"`) {
			p.Console = append(p.Console, string(answer.Params))
		}
		if answer.ID != p.calls {
			continue
		}
		if answer.Error != nil {
			p.t.Fatalf("%s: %s", method, answer.Error)
		}
		return answer.Result
	}
}

func (p *Page) into(v any, method string, params any) {
	p.t.Helper()
	if err := json.Unmarshal(p.Call(method, params), v); err != nil {
		p.t.Fatal(err)
	}
}

// Run evaluates an expression in the page, waits for its promise, and decodes its value into v, which may be nil.
func (p *Page) Run(expression string, v any) {
	p.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	p.into(&answer, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	if answer.ExceptionDetails != nil {
		p.t.Fatalf("%s: %s", expression, answer.ExceptionDetails)
	}
	if v != nil {
		if err := json.Unmarshal(answer.Result.Value, v); err != nil {
			p.t.Fatalf("%s: %v: %s", expression, err, answer.Result.Value)
		}
	}
}

// Until waits until an expression is true.
func (p *Page) Until(what, expression string) {
	p.t.Helper()
	for end := time.Now().Add(Patience); ; time.Sleep(5 * time.Millisecond) {
		var ok bool
		if p.Run("Boolean("+expression+")", &ok); ok {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("waited %v for %s; the page complains: %v", Patience, what, p.Console)
		}
	}
}

// Mouse sends a mouse event of the left button at a place of the page; modifiers are the protocol's.
func (p *Page) Mouse(kind string, x, y float64, modifiers int) {
	p.t.Helper()
	p.Call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1, "modifiers": modifiers})
}

// Click presses what a selector finds.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.Run(fmt.Sprintf("document.querySelector(%q).click()", selector), nil)
}

// Kill ends the browser without a word to anybody: all of its processes.
func (p *Page) Kill() {
	p.t.Helper()
	p.killed = true
	if err := syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
}

// Screenshot writes a picture of the page into the test's artifacts and returns its path.
func (p *Page) Screenshot(name string) string {
	p.t.Helper()
	var shot struct{ Data string }
	p.into(&shot, "Page.captureScreenshot", map[string]any{"format": "png"})
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	path := filepath.Join(p.t.ArtifactDir(), name)
	if err := os.WriteFile(path, png, 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}
