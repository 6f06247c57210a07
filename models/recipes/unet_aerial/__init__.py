"""A small U-Net that classifies the ground in aerial and satellite pictures."""
