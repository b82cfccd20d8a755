"""Label-only fine-tuning of a decoder: the loss is on the answer token, an item a prompt or many under the MIS mask."""
