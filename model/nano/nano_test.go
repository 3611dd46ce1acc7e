package nano

import "testing"

func TestTheBuiltInWeightsOpen(t *testing.T) {
	c, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	parameters := 0
	for _, name := range c.Names() {
		values, err := c.Float32s(name)
		if err != nil {
			t.Fatal(err)
		}
		if c.DType(name) != "F16" {
			t.Errorf("%s is %s", name, c.DType(name))
		}
		parameters += len(values)
	}
	if len(c.Names()) != 371 || parameters != 4_383_138 {
		t.Errorf("%d tensors, %d parameters", len(c.Names()), parameters)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
