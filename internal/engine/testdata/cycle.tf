resource "terraform_data" "x" { input = terraform_data.y.id }
resource "terraform_data" "y" { input = terraform_data.x.id }
