// go build adapter.go && python3 run.py --batch -- ./adapter
package main

import ("bufio"; "encoding/binary"; "encoding/json"; "fmt"; "os")

// Replace read by a call of your reader. It returns the tensors and the metadata, or the error with which it rejects a file.
func read(path string) (tensors map[string]any, metadata any, err error) {
	file, err := os.ReadFile(path)
	if err != nil || len(file) < 8 || binary.LittleEndian.Uint64(file) > uint64(len(file)-8) {
		return nil, nil, fmt.Errorf("short: %v", err)
	}
	err = json.Unmarshal(file[8:8+binary.LittleEndian.Uint64(file)], &tensors)
	metadata = tensors["__metadata__"]
	delete(tensors, "__metadata__")
	return tensors, metadata, err
}

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		answer := map[string]any{}
		if tensors, metadata, err := read(lines.Text()); err != nil {
			answer["error"] = err.Error()
		} else {
			answer["tensors"], answer["metadata"] = tensors, metadata
		}
		line, _ := json.Marshal(answer)
		fmt.Println(string(line))
	}
}
