// Command tracker follows the objects you point at, live from cameras or through files, and sends their masks where they are
// wanted. Each command has its own file; this one is the inventory.
package main

import (
	"os"

	"github.com/spf13/cobra"
)

func main() { os.Exit(execute(tracker())) }

func tracker() *cobra.Command {
	root := newRoot()
	root.AddCommand(
		newConfig(),
		newRLE(),
		newVersion(engines{}),
	)
	return root
}
