// c++ -std=c++17 -g -fsanitize=address,undefined adapter.cpp -o adapter && python3 run.py --batch -- ./adapter
// Replace the body of `read` by a call of your reader. It returns the tensors as JSON, and throws where it rejects a file.
#include <cstdio>
#include <fstream>
#include <iostream>

std::string quoted(const std::string &text) { // the text must be UTF-8
  std::string out = "\"";
  for (unsigned char c : text)
    if (char buffer[8]; c == '"' || c == '\\' || c < 32) std::snprintf(buffer, sizeof buffer, "\\u%04x", c), out += buffer;
    else out += c;
  return out + '"';
}
std::string read(const std::string &path) { // knows only files with one vector
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  char name[64], dtype[16], shape[24], offsets[48]; int all = 0;
  const char *form = "{\"%63[^\"\\]\":{\"dtype\":\"%15[A-Z0-9_]\",\"shape\":[%23[0-9]],\"data_offsets\":[%47[0-9,]]}%n";
  if (text.size() < 8 || std::sscanf(text.c_str() + 8, form, name, dtype, shape, offsets, &all) != 4 || !all)
    throw std::runtime_error("not one vector");
  return quoted(name) + ":{\"dtype\":" + quoted(dtype) + ",\"shape\":[" + shape + "],\"data_offsets\":[" + offsets + "]}";
}
int main() {
  for (std::string path; std::getline(std::cin, path);)
    try {
      std::cout << "{\"tensors\":{" + read(path) + "}}" << std::endl;
    } catch (const std::exception &error) {
      std::cout << "{\"error\":" + quoted(error.what()) + "}" << std::endl;
    }
}
