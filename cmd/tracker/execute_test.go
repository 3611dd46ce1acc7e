package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// call runs the tracker as main does, in this process.
func call(t *testing.T, stdin string, arguments ...string) (stdout, stderr string, status int) {
	t.Helper()
	root := tracker()
	commands := func() *cobra.Command { return root }
	var out, complaints bytes.Buffer
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&complaints)
	root.SetArgs(arguments)
	status = execute(commands)
	return out.String(), complaints.String(), status
}

func TestMisuseIsOneLineAndStatusTwo(t *testing.T) {
	for name, c := range map[string]struct {
		arguments string
		says      string
	}{
		"no command":             {"", "tracker: which command? One of: "},
		"misspelt command":       {"versoin", `tracker: unknown command "versoin": did you mean version?`},
		"misspelt subcommand":    {"rle encod", `tracker rle: unknown command "encod": did you mean encode?`},
		"no subcommand":          {"rle", "tracker rle: which command? One of: decode, encode, stats"},
		"unknown shell":          {"completion fisch", `tracker completion: unknown command "fisch"`},
		"unknown flag":           {"version --jsn", "tracker version: unknown flag: --jsn (see 'tracker version --help')"},
		"argument too many":      {"version now", "(see 'tracker version --help')"},
		"argument missing":       {"rle encode", "(see 'tracker rle encode --help')"},
		"flag missing":           {"rle decode", "--out DIR"},
		"no number":              {"track testscene: --point nan,1", `"nan" is not a number`},
		"no finite number":       {"track testscene: --box 1,2,3,1e39", `"1e39" is not a number`},
		"numbers missing":        {"track testscene: --point 5", `--point "5": too few numbers (1); write X,Y`},
		"no place":               {"track testscene: --point 1@x:5,5", "two numbers, as in 2@30:"},
		"point beside":           {"track testscene: --point 1@3:641,5", "--point 641,5: it is outside the picture, which is 640×360"},
		"box beside":             {"track testscene: --box 700,0,800,50", "--box 700,0,800,50: it is outside the picture"},
		"point beside a picture": {"segment testscene: --point 5,361", "--point 5,361: it is outside the picture, which is 640×360"},
		"no input":               {"track --point 5,5", "tracker track: one INPUT is needed, there are 0 (see 'tracker track --help')"},
		"written over":           {"segment nowhere.png --point 1,1 --overlay nowhere.png", "--overlay nowhere.png would write over the input"},
		"too many threads":       {"track testscene: --point 1,1 --threads 100000", "--threads 100000: must be 0 (one a core) to 1024"},
		"no such configuration":  {"config check nowhere.yaml", "nowhere.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, status := call(t, "", strings.Fields(c.arguments)...)
			if status != exitUsage {
				t.Errorf("exit status %d, want %d", status, exitUsage)
			}
			if stdout != "" {
				t.Errorf("stdout has %q", stdout)
			}
			if !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("stderr has %q, want one line with %q", stderr, c.says)
			}
		})
	}
}

func TestReadingThatNeverEndsIsInterrupted(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close() // nothing comes before that
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for mask, err := range masks(interruptibleReader{ctx, read}) {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, %v", mask, err)
		}
	}
	if _, err := interruptible(ctx, func() (int, error) { select {} }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if data, err := io.ReadAll(interruptibleReader{t.Context(), strings.NewReader("all of it")}); err != nil || string(data) != "all of it" {
		t.Errorf("got %q, %v", data, err)
	}
}

func TestHelpAndCompletionGoToStdout(t *testing.T) {
	for _, arguments := range []string{"--help", "rle --help", "help rle encode", "completion bash"} {
		stdout, stderr, status := call(t, "", strings.Fields(arguments)...)
		if status != exitDone || stdout == "" || stderr != "" {
			t.Errorf("%s: exit status %d, %d bytes on stdout, stderr %q", arguments, status, len(stdout), stderr)
		}
	}
}

func TestErrorsOfSeveralLinesAreJoined(t *testing.T) {
	root := newRoot()
	var stderr bytes.Buffer
	root.SetErr(&stderr)
	root.SetArgs([]string{"break"})
	root.AddCommand(&cobra.Command{Use: "break", RunE: func(*cobra.Command, []string) error {
		return errors.Join(errors.New("first"), errors.New("second"))
	}})
	if status := execute(func() *cobra.Command { return root }); status != exitFailed || stderr.String() != "tracker break: first second\n" {
		t.Errorf("exit status %d, stderr %q", status, stderr.String())
	}
}

// TestMain lets this binary be the process that the signal tests signal.
func TestMain(m *testing.M) {
	if os.Getenv("TRACKER_TEST_SIGNALS") == "" {
		os.Exit(m.Run())
	}
	root := newRoot()
	commands := func() *cobra.Command {
		if slices.Contains(os.Args, "early") { // it takes its time to begin
			signals := make(chan os.Signal, 1)
			signal.Notify(signals, syscall.SIGTERM)
			os.Stdout.WriteString("ready\n")
			<-signals
		}
		return root
	}
	for name, end := range map[string]func(context.Context) error{
		"serve": func(ctx context.Context) error { <-ctx.Done(); return nil },
		"work":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"tell":  func(context.Context) error { _, err := fmt.Println("more"); return err },
		"early": func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(10 * time.Second):
				return errors.New("the signal was not heard")
			}
		},
		"hang": func(ctx context.Context) error { <-ctx.Done(); os.Stdout.WriteString("ending\n"); select {} },
	} {
		root.AddCommand(&cobra.Command{Use: name, RunE: func(command *cobra.Command, _ []string) error {
			if name != "tell" && name != "early" {
				os.Stdout.WriteString("ready\n")
			}
			return end(command.Context())
		}})
	}
	os.Exit(execute(commands))
}

func TestAClosedStdoutIsOneLineAndStatusOne(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	process := exec.CommandContext(t.Context(), os.Args[0], "tell")
	process.Env = append(os.Environ(), "TRACKER_TEST_SIGNALS=1")
	var stderr bytes.Buffer
	process.Stdout, process.Stderr = write, &stderr
	process.Run()
	write.Close()
	if status := process.ProcessState.ExitCode(); status != exitFailed || stderr.String() != "tracker tell: write /dev/stdout: broken pipe\n" {
		t.Errorf("%v: exit status %d, stderr %q", process.ProcessState, status, stderr.String())
	}
}

func TestSignalsEndTheCommand(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		signals []os.Signal // each sent after a line on stdout
		status  int
		stderr  string
	}{
		"Ctrl-C interrupts a service":          {"serve", []os.Signal{os.Interrupt}, exitInterrupted, ""},
		"SIGTERM ends a service well":          {"serve", []os.Signal{syscall.SIGTERM}, exitDone, ""},
		"Ctrl-C leaves work undone":            {"work", []os.Signal{os.Interrupt}, exitInterrupted, "tracker work: interrupted\n"},
		"SIGTERM leaves work undone":           {"work", []os.Signal{syscall.SIGTERM}, exitInterrupted, "tracker work: interrupted\n"},
		"SIGTERM before it has begun":          {"early", []os.Signal{syscall.SIGTERM}, exitInterrupted, "tracker early: interrupted\n"},
		"a second Ctrl-C does not wait":        {"hang", []os.Signal{os.Interrupt, os.Interrupt}, exitInterrupted, ""},
		"Ctrl-C after SIGTERM does not either": {"hang", []os.Signal{syscall.SIGTERM, os.Interrupt}, exitInterrupted, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := exec.CommandContext(t.Context(), os.Args[0], c.command)
			process.Env = append(os.Environ(), "TRACKER_TEST_SIGNALS=1")
			var stderr bytes.Buffer
			process.Stderr = &stderr
			stdout, err := process.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := process.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(stdout)
			for _, signal := range c.signals {
				if _, err := lines.ReadString('\n'); err != nil {
					t.Fatalf("waiting to send %v: %v", signal, err)
				}
				if err := process.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
			}
			io.Copy(io.Discard, lines)
			process.Wait()
			if status := process.ProcessState.ExitCode(); status != c.status || stderr.String() != c.stderr {
				t.Errorf("exit status %d, stderr %q; want %d, %q", status, stderr.String(), c.status, c.stderr)
			}
		})
	}
}
