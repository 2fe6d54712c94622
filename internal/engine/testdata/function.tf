resource "terraform_data" "x" {
  input = file("missing.txt")
}
