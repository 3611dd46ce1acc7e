// Command tracker follows the objects you point at, live from cameras or through files, and sends their masks where they are
// wanted. Each command has its own file; this one is the inventory.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"maskstream/ingest"
	"maskstream/model/ort"
)

func main() { os.Exit(execute(tracker())) }

func tracker() *cobra.Command {
	root := newRoot()
	root.AddCommand(
		newRun(),
		newTrack(),
		newSegment(),
		newModel(),
		newProbe(),
		newRLE(),
		newConfig(),
		newBench(),
		newVersion(engines{
			FFmpeg:      func() (string, error) { return ingest.FFmpegVersion(), nil },
			ONNXRuntime: func() (string, error) { return ort.Version("") },
		}),
	)
	return root
}
