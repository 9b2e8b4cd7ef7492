hidden = person "Hidden"
