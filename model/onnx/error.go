package onnx

import "fmt"

// Error says which operator of a graph was given what does not fit. [Build] returns it.
type Error struct {
	Graph  string // the name given to Build
	Module string // the last [Graph.Module]
	Op     string // the operator, "" where the graph's author stopped the build with [Graph.Fail]
	Err    error
}

func (e *Error) Error() string {
	where := e.Graph
	if e.Module != "" {
		where += ": " + e.Module
	}
	if e.Op != "" {
		where += ": " + e.Op
	}
	return fmt.Sprintf("onnx: building %s: %v", where, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Fail stops the build; Build returns err within an [*Error]. It does not return.
func (g *Graph) Fail(err error) {
	panic(&Error{Graph: g.name, Module: g.module, Err: err})
}

func (g *Graph) failf(op, format string, args ...any) {
	panic(&Error{Graph: g.name, Module: g.module, Op: op, Err: fmt.Errorf(format, args...)})
}
