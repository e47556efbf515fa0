"""GGUF files as Hugging Face checkpoints: names, shapes, config and tokenizer of the Llama family."""
