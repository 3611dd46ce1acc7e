package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"maskstream/configs"
	"maskstream/frames"
	"maskstream/ingest"
)

// probed is what tracker probe prints. Numbers that a source does not tell are zero.
type probed struct {
	Source      string        `json:"source"` // without credentials
	Container   string        `json:"container"`
	Codec       string        `json:"codec"`
	Profile     string        `json:"profile"`
	PixelFormat string        `json:"pixel_format"`
	CodedSize   [2]int        `json:"coded_size"` // width, height
	Size        [2]int        `json:"size"`       // as displayed, which is that of the masks
	PixelAspect [2]int        `json:"pixel_aspect"`
	FPS         float64       `json:"fps"`
	Duration    float64       `json:"duration"` // seconds
	Frames      int           `json:"frames"`   // an estimate
	Live        bool          `json:"live"`
	Matrix      probedColour  `json:"matrix"`
	Range       probedColour  `json:"range"`
	Transfer    string        `json:"transfer"`
	BFrames     bool          `json:"b_frames"`
	Rotation    int           `json:"rotation"`   // degrees clockwise that it is turned by to stand upright
	Mirrored    bool          `json:"mirrored"`   // left to right, before it is turned
	Interlaced  string        `json:"interlaced"` // "no", "top field first", "bottom field first"
	TimeBase    [2]int        `json:"time_base"`
	Preview     probedPreview `json:"preview"`
}

type probedColour struct {
	Value   string `json:"value"`
	Assumed bool   `json:"assumed"` // the source does not say
}

type probedPreview struct {
	Passed bool   `json:"passed_through"`
	Reason string `json:"reason"` // why it is coded again; empty where it is not
}

func newProbe() *cobra.Command {
	var asJSON bool
	var transport, username, passwordFile string
	var timeout time.Duration
	command := &cobra.Command{
		Use:   "probe URL",
		Short: "What a source is: codec, size, rate, colour, and what the preview would do with it",
		Long: `What a source is: codec, size, frame rate, colour, B-frames, rotation, and what the preview would do with it. It decodes one picture.

URL is whatever tracker track and a stream's url take: a file, a folder of pictures, an rtsp or http address, /dev/video0, pipe:0.
User name and password are never shown.`,
		Example: `  tracker probe clip.mp4
  tracker probe --json rtsp://camera.example/main --username admin --password-file /run/secrets/gate`,
		Args: one("URL"),
	}
	flags := command.Flags()
	flags.BoolVar(&asJSON, "json", false, "as one JSON object")
	flags.StringVar(&transport, "transport", "tcp", "of RTSP: tcp, udp, auto (`TCP` first)")
	flags.StringVar(&username, "username", "", "`NAME` of the user; or in the URL, percent-encoded")
	flags.StringVar(&passwordFile, "password-file", "", "`FILE` that holds the password and nothing else")
	flags.DurationVar(&timeout, "timeout", 10*time.Second, "`TIME` to wait for what is not a file")
	command.RunE = func(command *cobra.Command, args []string) error {
		o := ingest.Options{URL: args[0], Transport: transport, Username: username, Timeout: timeout}
		if passwordFile != "" {
			secret, err := configs.ReadSecret(passwordFile)
			if err != nil {
				return usageError{fmt.Errorf("--password-file: %w", err)}
			}
			o.Password = secret
		}
		details, err := ingest.Probe(command.Context(), o)
		if err != nil {
			return err
		}
		p := describe(details)
		if asJSON {
			encoder := json.NewEncoder(command.OutOrStdout())
			encoder.SetEscapeHTML(false)
			return encoder.Encode(p)
		}
		return p.print(command.OutOrStdout())
	}
	return command
}

func describe(d ingest.Details) probed {
	passed, reason := d.Preview()
	p := probed{
		Source: d.Source, Container: d.Container, Codec: d.Codec, Profile: d.ProfileName, PixelFormat: d.PixelFormat,
		CodedSize: [2]int{d.CodedWidth, d.CodedHeight}, Size: [2]int{d.Width, d.Height}, PixelAspect: d.SampleAspect,
		FPS: d.FPS, Duration: d.Duration.Seconds(), Frames: d.Frames, Live: d.Live,
		Matrix: probedColour{d.Matrix, d.MatrixAssumed}, Range: probedColour{"limited", d.RangeAssumed}, Transfer: d.Transfer,
		BFrames: d.BFrames, Rotation: 90 * int(d.Rotation&^frames.Mirrored), Mirrored: d.Rotation&frames.Mirrored != 0,
		Interlaced: "no", TimeBase: d.TimeBase, Preview: probedPreview{passed, reason},
	}
	if d.FullRange {
		p.Range.Value = "full"
	}
	if d.Interlaced {
		p.Interlaced = "bottom field first"
		if d.TopFieldFirst {
			p.Interlaced = "top field first"
		}
	}
	return p
}

// print is for people.
func (p probed) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, values ...any) { fmt.Fprintf(table, name+"\t"+format+"\n", values...) }
	row("source", "%s", p.Source)
	row("container", "%s", p.Container)
	row("codec", "%s", strings.Join(strings.Fields(p.Codec+" "+p.Profile), " "))
	row("pixels", "%s", p.PixelFormat)
	size := fmt.Sprintf("%d×%d", p.Size[0], p.Size[1])
	if p.CodedSize != p.Size {
		size += fmt.Sprintf(", coded as %d×%d", p.CodedSize[0], p.CodedSize[1])
	}
	if p.PixelAspect[0] != p.PixelAspect[1] {
		size += fmt.Sprintf(", pixels are %d:%d", p.PixelAspect[0], p.PixelAspect[1])
	}
	row("size", "%s", size)
	row("frame rate", "%s", known(p.FPS, "%.4g a second", p.FPS))
	duration := known(p.Duration, "%v", time.Duration(p.Duration*float64(time.Second)).Round(time.Millisecond))
	if p.Frames > 0 {
		duration += fmt.Sprintf(", about %d frames", p.Frames)
	}
	row("duration", "%s", duration)
	row("live", "%s", yes(p.Live))
	row("matrix", "%s", p.Matrix)
	row("range", "%s", p.Range)
	if p.Transfer != "" {
		row("transfer", "%s%s", p.Transfer, hdr(p.Transfer))
	}
	row("B-frames", "%s", yes(p.BFrames))
	turned := "none"
	if p.Rotation != 0 {
		turned = fmt.Sprintf("%d° clockwise", p.Rotation)
	}
	if p.Mirrored {
		turned = strings.Replace("mirrored, then "+turned, ", then none", "", 1)
	}
	row("rotation", "%s", turned)
	row("interlaced", "%s", p.Interlaced)
	row("time base", "%s", known(float64(p.TimeBase[1]), "%d/%d s", p.TimeBase[0], p.TimeBase[1]))
	if p.Preview.Passed {
		row("preview", "passed through as it is")
	} else {
		row("preview", "coded again as H.264: %s", p.Preview.Reason)
	}
	return table.Flush()
}

func (c probedColour) String() string {
	if c.Assumed {
		return c.Value + ", assumed: the source does not say"
	}
	return c.Value
}

func known(value float64, format string, values ...any) string {
	if value == 0 {
		return "unknown"
	}
	return fmt.Sprintf(format, values...)
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// hdr warns of light that is coded for brighter screens: it is not mapped, so that pictures look flat to the network.
func hdr(transfer string) string {
	if transfer == "smpte2084" || transfer == "arib-std-b67" {
		return " (HDR, which is taken as it is: pictures look flat)"
	}
	return ""
}
