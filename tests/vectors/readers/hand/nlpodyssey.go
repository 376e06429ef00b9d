// nlpodyssey/safetensors: Deserialize, and the data of each tensor.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/nlpodyssey/safetensors"
)

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		buffer, _ := os.ReadFile(lines.Text())
		file, err := safetensors.Deserialize(buffer)
		if err != nil {
			fmt.Printf("error %x\n", err.Error())
			continue
		}
		for _, t := range file.Tensors() {
			shape := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(t.TensorView.Shape()), "[]")), ",")
			fmt.Printf("tensor %x %x %s %x\n", t.Name, t.TensorView.DType().String(), shape, t.TensorView.Data())
		}
		_, header, _ := safetensors.ReadMetadata(buffer)
		for key, value := range header.Metadata() {
			fmt.Printf("metadata %x %x\n", key, value)
		}
		fmt.Println("ok")
	}
}
