package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"maskstream/model/amg"
)

// autoFlags switch automatic masks on and set their options.
type autoFlags struct {
	on   bool
	file string
}

func (f *autoFlags) add(flags *pflag.FlagSet, usage string) {
	flags.BoolVar(&f.on, "auto", false, usage)
	flags.StringVar(&f.file, "options", "", "`FILE.json`: options of --auto, under the reference's names")
}

// options reads the file, or gives the defaults.
func (f autoFlags) options() (amg.Options, error) {
	if f.file == "" {
		return amg.Default(), nil
	}
	if !f.on {
		return amg.Options{}, usagef("--options %s are for --auto, which is not given", f.file)
	}
	data, err := os.ReadFile(f.file)
	if err != nil {
		return amg.Options{}, usageError{err}
	}
	options, err := amg.ParseOptions(data)
	if err != nil {
		return options, usageError{fmt.Errorf("%s: %w", f.file, err)}
	}
	return options, nil
}
