// go build adapter.go && python3 run.py --batch -- ./adapter
package main

import "bufio"
import "encoding/binary"
import "encoding/json"
import "os"

// Replace read by a call of your reader. It returns the tensors and the metadata, or the error with which it rejects a file.
func read(path string) (tensors map[string]any, metadata any, err error) {
	file, err := os.ReadFile(path)
	if err != nil || len(file) < 8 || binary.LittleEndian.Uint64(file) > uint64(len(file)-8) {
		return nil, nil, os.ErrInvalid
	}
	err = json.Unmarshal(file[8:8+binary.LittleEndian.Uint64(file)], &tensors)
	metadata = tensors["__metadata__"]
	delete(tensors, "__metadata__")
	return tensors, metadata, err
}

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		tensors, metadata, err := read(lines.Text())
		answer := map[string]any{"tensors": tensors, "metadata": metadata}
		if err != nil {
			answer = map[string]any{"error": err.Error()}
		}
		json.NewEncoder(os.Stdout).Encode(answer)
	}
}
