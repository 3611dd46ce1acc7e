package integration

import (
	"bufio"
	"debug/elf"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// instructions are those of the Dockerfile, continued lines joined.
func instructions(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(string(text), "\\\n", " "), "\n") {
		if line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestWhatTheImageCopiesIsThere(t *testing.T) {
	copied := 0
	for _, line := range instructions(t) {
		words := strings.Fields(line)
		if words[0] != "COPY" {
			continue
		}
		for _, source := range words[1 : len(words)-1] {
			built, fromBuild := strings.CutPrefix(source, "/src/")
			switch {
			case strings.HasPrefix(source, "--"), built == "bin/tracker": // TestMain builds that
				continue
			case fromBuild:
				source = built
			}
			copied++
			if _, err := os.Stat(filepath.Join("..", source)); err != nil {
				t.Errorf("%s: %v (`make setup` installs ONNX Runtime)", line, err)
			}
		}
	}
	if copied < 5 {
		t.Errorf("only %d files are copied", copied)
	}
}

// TestTheImageHasTheLibrariesThatTheProgramIsLinkedWith by the names of Debian's packages: libavcodec.so.59 is in libavcodec59.
func TestTheImageHasTheLibrariesThatTheProgramIsLinkedWith(t *testing.T) {
	program, err := elf.Open(tracker)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	needed, err := program.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	lines := instructions(t)
	last := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "COPY --from=") })
	installs := strings.Fields(lines[last-1])
	found := 0
	for _, library := range needed {
		if m := regexp.MustCompile(`^(lib(?:av|sw)\w+)\.so\.(\d+)$`).FindStringSubmatch(library); m != nil {
			if found++; !slices.Contains(installs, m[1]+m[2]) {
				t.Errorf("the image lacks %s%s: %s", m[1], m[2], lines[last-1])
			}
		}
	}
	if found < 4 {
		t.Errorf("found %d of FFmpeg's libraries in %q", found, needed)
	}
}

func TestComposeRunsAConfigurationThatIsValid(t *testing.T) {
	text, err := os.ReadFile("../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct {
			Build   struct{ Context, Dockerfile string }
			Volumes []string
			Secrets []string
		}
		Secrets map[string]struct{ File string }
	}
	if err := yaml.Unmarshal(text, &compose); err != nil {
		t.Fatal(err)
	}
	service, ok := compose.Services["tracker"]
	if !ok || len(service.Volumes) == 0 || len(service.Secrets) == 0 {
		t.Fatalf("%+v", compose)
	}
	if _, err := os.Stat(filepath.Join("../deploy", service.Build.Context, service.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	parts := strings.Split(service.Volumes[0], ":")
	config, inside := filepath.Join("../deploy", parts[0]), parts[1]
	must(t, "config", "check", config)
	if command := instructions(t); !strings.Contains(command[len(command)-1], `"`+inside+`"`) {
		t.Errorf("the image runs %s, the configuration is at %s", command[len(command)-1], inside)
	}
	read, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := os.ReadFile("../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range service.Secrets {
		if compose.Secrets[secret].File == "" || !strings.Contains(string(read), "/run/secrets/"+secret) {
			t.Errorf("the secret %s has no file, or the configuration does not name it", secret)
		}
		if !slices.Contains(strings.Fields(string(ignored)), filepath.Join("deploy", filepath.Dir(compose.Secrets[secret].File))) {
			t.Errorf("the secret %s is copied into the image's build: .dockerignore lacks its folder", secret)
		}
	}
	if _, ok := compose.Services["nats"]; !ok || !strings.Contains(string(read), "nats://nats:") {
		t.Error("the configuration names another NATS server than compose runs")
	}
}

// TestTheServiceManagerAndTheHealthCheckSeeTheService runs the program as the unit does, and the image's health check on it.
func TestTheServiceManagerAndTheHealthCheckSeeTheService(t *testing.T) {
	folder, err := os.MkdirTemp("", "n") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	socket, config := filepath.Join(folder, "notify"), filepath.Join(folder, "tracker.yaml")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	write(t, filepath.Join(folder, "secrets_http"), "geheim\n")
	write(t, config, "streams: [{name: gate, url: 'testscene:'}]\nnats: {embedded: true, url: 'nats://127.0.0.1:0'}\n"+
		"http: {listen: '127.0.0.1:0', token_file: '${CREDENTIALS_DIRECTORY}/secrets_http'}\n")
	command := exec.CommandContext(t.Context(), tracker, "run", "-c", config)
	command.Env = append(os.Environ(), "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=200000", "CREDENTIALS_DIRECTORY="+folder)
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	log := bufio.NewReader(stderr)
	var port []string
	for port == nil {
		line, err := log.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		port = regexp.MustCompile(`preview=http://127\.0\.0\.1:(\d+)`).FindStringSubmatch(line)
	}
	go func() { // or the program waits for its log to be read
		for {
			if _, err := log.ReadString('\n'); err != nil {
				return
			}
		}
	}()
	hear := func(wanted string) {
		t.Helper()
		for datagram := make([]byte, 100); ; {
			if err := manager.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			n, err := manager.Read(datagram)
			if err != nil {
				t.Fatalf("waiting for %s: %v", wanted, err)
			}
			if got := string(datagram[:n]); got == wanted {
				return
			} else if got != "WATCHDOG=1" {
				t.Fatalf("heard %s, want %s", got, wanted)
			}
		}
	}
	hear("READY=1")
	hear("WATCHDOG=1")

	var check []string
	for _, line := range instructions(t) {
		if at := strings.Index(line, "CMD ["); strings.HasPrefix(line, "HEALTHCHECK") {
			if err := json.Unmarshal([]byte(line[at+len("CMD "):]), &check); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	}
	for i := range check {
		check[i] = strings.ReplaceAll(check[i], "8080", port[1])
	}
	if out, err := exec.Command(check[0], check[1:]...).CombinedOutput(); err != nil {
		t.Errorf("the health check fails on a healthy service: %v %s", err, out)
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	hear("STOPPING=1")
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
	if exec.Command(check[0], check[1:]...).Run() == nil {
		t.Error("the health check passes without a service")
	}
}

func TestTheUnitIsOneThatSystemdTakes(t *testing.T) {
	unit, err := os.ReadFile("../deploy/tracker.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"Type=notify", "DynamicUser=yes", "ProtectSystem=strict", "StateDirectory=maskstream", "Restart=always",
		fmt.Sprintf("RestartPreventExitStatus=%d", call(t, "run", "-c", "none.yaml").status)} {
		if !strings.Contains(string(unit), "\n"+line+"\n") {
			t.Errorf("the unit lacks %s", line)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here: apt-get install systemd, then go test ./integration -run TheUnit")
	}
	path := filepath.Join(t.TempDir(), "tracker.service")
	write(t, path, strings.ReplaceAll(string(unit), "/opt/maskstream/bin/tracker", tracker))
	if out, err := exec.Command(analyze, "verify", path).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}
