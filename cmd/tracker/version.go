package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// engines says which native libraries are in use. A field that is nil stands for one that is not in this build.
type engines struct {
	FFmpeg      func() (string, error)
	ONNXRuntime func() (string, error)
}

// versions is what tracker version prints.
type versions struct {
	Version     string   `json:"version"`
	Commit      string   `json:"commit"`   // empty where it was built outside a checkout
	Modified    bool     `json:"modified"` // built from a checkout with changes on top of the commit
	Go          string   `json:"go"`
	FFmpeg      string   `json:"ffmpeg"`
	ONNXRuntime string   `json:"onnxruntime"`
	Tags        []string `json:"tags"`
}

func newVersion(engines engines) *cobra.Command {
	command := &cobra.Command{
		Use:   "version",
		Short: "What this program is built from and runs on",
		Args:  cobra.NoArgs,
	}
	asJSON := command.Flags().Bool("json", false, "as one JSON object")
	command.RunE = func(command *cobra.Command, _ []string) error {
		v := versionsOf(engines)
		if *asJSON {
			return json.NewEncoder(command.OutOrStdout()).Encode(v)
		}
		return v.writeTable(command.OutOrStdout())
	}
	return command
}

func versionsOf(engines engines) versions {
	v := versions{
		Version:     "unknown",
		Go:          fmt.Sprintf("%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH),
		FFmpeg:      engineVersion(engines.FFmpeg),
		ONNXRuntime: engineVersion(engines.ONNXRuntime),
		Tags:        []string{},
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = build.Main.Version
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Commit = setting.Value
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		case "-tags":
			v.Tags = strings.Split(setting.Value, ",")
		}
	}
	return v
}

// engineVersion puts an engine that cannot be asked into words: somebody who reports a fault wants the other lines all the same.
func engineVersion(ask func() (string, error)) string {
	if ask == nil {
		return "not in this build"
	}
	version, err := ask()
	if err != nil {
		return "not available: " + err.Error()
	}
	return version
}

func (v versions) writeTable(out io.Writer) error {
	commit := v.Commit
	switch {
	case commit == "":
		commit = "unknown"
	case v.Modified:
		commit += " with changes"
	}
	tags := "none"
	if len(v.Tags) > 0 {
		tags = strings.Join(v.Tags, " ")
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "tracker\t%s\ncommit\t%s\nGo\t%s\nFFmpeg\t%s\nONNX Runtime\t%s\ntags\t%s\n",
		v.Version, commit, v.Go, v.FFmpeg, v.ONNXRuntime, tags)
	return table.Flush()
}
