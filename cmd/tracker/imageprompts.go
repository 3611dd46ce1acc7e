package main

import (
	"maps"
	"slices"

	"maskstream/frames"
	"maskstream/model/amg"
)

// imagePrompts are the prompts of each of n pictures, by object id, from short forms [OBJECT@IMAGE:]VALUE; without a place a
// prompt is for object 1 on every picture.
func imagePrompts(points, boxes []string, n int) ([][]amg.Prompt, error) {
	objects := make([]map[int]*amg.Prompt, n)
	for i := range objects {
		objects[i] = map[int]*amg.Prompt{}
	}
	each := func(flag, arg string, set func(p *amg.Prompt, value string) error) error {
		at, value, err := splitPlace(flag, arg)
		if err != nil {
			return err
		}
		first, end := 0, n
		if value != arg {
			first, end = at.frame, at.frame+1
		}
		if end > n {
			return usagef("--%s %q: there is no picture %d; they are counted from 0, and there are %d", flag, arg, at.frame, n)
		}
		for _, of := range objects[first:end] {
			if of[at.object] == nil {
				of[at.object] = &amg.Prompt{}
			}
			if err := set(of[at.object], value); err != nil {
				return err
			}
		}
		return nil
	}
	for _, arg := range points {
		err := each("point", arg, func(p *amg.Prompt, value string) error {
			point, label, err := parsePoint(arg, value)
			p.Points, p.Labels = append(p.Points, point), append(p.Labels, label)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for _, arg := range boxes {
		err := each("box", arg, func(p *amg.Prompt, value string) (err error) {
			if p.Box != nil {
				return usagef("--box %q: the object has another box already; give it another object id, as in 2@0:%s", arg, value)
			}
			p.Box, err = parseBox(arg, value)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	prompts := make([][]amg.Prompt, n)
	for i, of := range objects {
		for _, id := range slices.Sorted(maps.Keys(of)) {
			prompts[i] = append(prompts[i], *of[id])
		}
	}
	return prompts, nil
}

// onPicture refuses prompts outside the picture.
func onPicture(prompts []amg.Prompt, picture *frames.Picture) error {
	width, height := picture.DisplaySize()
	for _, p := range prompts {
		if err := inPicture(p.Points, p.Box, width, height); err != nil {
			return err
		}
	}
	return nil
}
