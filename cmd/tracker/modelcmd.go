package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"maskstream/model"
	"maskstream/model/nano"
	"maskstream/model/sam2"
)

func newModel() *cobra.Command {
	command := &cobra.Command{
		Use:   "model",
		Short: "Models that are known, what a checkpoint holds, and its graphs",
	}
	command.AddCommand(newModelList(), newModelInspect(), newModelConvert())
	return command
}

func newModelList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "The models that are recognised from their weights alone",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			known, err := sam2.Known()
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(command.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "NAME\tIMAGE SIZE\tWHERE")
			for _, c := range known {
				where := "your file: --model " + c.Name + ".pt, as published in facebookresearch/sam2"
				switch c.Name {
				case nano.Name:
					where = "built in: --model " + nano.Name
				case "edgetam":
					where = "your file: --model " + c.Name + ".pt, as published in facebookresearch/EdgeTAM"
				}
				fmt.Fprintf(table, "%s\t%d\t%s\n", c.Name, c.ImageSize, where)
			}
			return table.Flush()
		},
	}
}

func newModelInspect() *cobra.Command {
	command := &cobra.Command{
		Use:   "inspect FILE",
		Short: "What a checkpoint is: format, weights, model",
		Args:  one("FILE"),
	}
	config := command.Flags().String("model-config", "", "`FILE.yaml` of upstream that describes the model, where the weights alone do not tell")
	asJSON := command.Flags().Bool("json", false, "as one JSON object")
	command.RunE = func(command *cobra.Command, args []string) error {
		weights, err := sam2.Open(args[0])
		if err != nil {
			return usageError{err}
		}
		defer weights.Close()
		var architecture *model.Config
		if *config != "" {
			read, err := sam2.ReadConfig(*config)
			if err != nil {
				return usageError{err}
			}
			architecture = &read
		}
		summary := sam2.Inspect(weights, architecture)
		if *asJSON {
			return json.NewEncoder(command.OutOrStdout()).Encode(summary)
		}
		_, err = fmt.Fprint(command.OutOrStdout(), summary)
		return err
	}
	return command
}
