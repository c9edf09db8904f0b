module warner

go 1.19
