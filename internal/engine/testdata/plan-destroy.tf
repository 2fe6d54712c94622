# before: resource "terraform_data" "a" { input = 1 }
# before: resource "terraform_data" "b" { input = 1 }
# before: output "o" { value = 1 }
# destroy
resource "terraform_data" "a" { input = 1 }
resource "terraform_data" "b" { input = 1 }
output "o" { value = 1 }
