package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"maskstream/model/checkpoint"
	"maskstream/model/sam2"
)

func newModelConvert() *cobra.Command {
	command := &cobra.Command{
		Use:   "convert FILE -o DIR",
		Short: "A model's ONNX graphs, from its weights",
		Long: `Writes the graphs that the program runs, with the weights of FILE (or "nano", the built-in model) inside, into the folder
DIR, and the path of each to stdout. Their inputs and outputs are documented in model/sam2, at the function that builds each.`,
		Args: cobra.ExactArgs(1),
	}
	config := command.Flags().String("model-config", "", "`FILE`: upstream's YAML, where the weights alone do not tell")
	folder := command.Flags().StringP("out", "o", "", "`DIR`: where to; it is made if it is missing")
	command.RunE = func(command *cobra.Command, args []string) error {
		if *folder == "" {
			return usagef("no folder: say where to with -o DIR")
		}
		graphs, err := buildGraphs(args[0], *config)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(*folder, 0o755); err != nil {
			return err
		}
		for _, part := range graphs.Parts() {
			path := filepath.Join(*folder, part.Name+".onnx")
			if err := os.WriteFile(path, *part.Model, 0o644); err != nil {
				return errors.Join(err, os.Remove(path)) // half a graph is none
			}
			fmt.Fprintln(command.OutOrStdout(), path)
		}
		return nil
	}
	return command
}

func buildGraphs(name, config string) (*sam2.Graphs, error) {
	weights, architecture, err := sam2.Load(name, config)
	if err != nil {
		return nil, usageError{err}
	}
	defer weights.Close()
	graphs, err := sam2.Build(architecture, checkpoint.NewWeights(weights))
	if err != nil {
		return nil, modelError(name, err)
	}
	return graphs, nil
}
