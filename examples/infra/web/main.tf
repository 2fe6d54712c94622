variable "servers" {
  type    = number
  default = 2
}

resource "terraform_data" "server" {
  count = var.servers
  input = "web-${count.index}"
}

output "names" {
  value = terraform_data.server[*].output
}
