# apply
resource "terraform_data" "x" {
  provisioner "local-exec" { command = "echo boo; exit 3" }
}
